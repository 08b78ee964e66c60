import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { reset } from './reset-socket';
import type { SinkBehaviour, SinkPhase } from './smtp-sink-behaviour';
import type { SmtpSink } from './smtp-sink';
import { SmtpSinkBody, unstuff } from './smtp-sink-body';

const EMPTY = Buffer.alloc(0);

interface Transaction {
  from: string;
  parameters: string[];
  recipients: string[];
}

/** One connection to the sink: reads commands and messages, writes all replies to one chunk in one write. */
export class SmtpSinkSession {
  private socket: Socket;
  private input: Buffer = EMPTY;
  private output = '';
  private helo = '';
  private user: string | undefined;
  private loginStep: { user?: string } | undefined;
  private transaction: Transaction | undefined;
  /** Set while a message is being read. */
  private body: SmtpSinkBody | undefined;
  /** Set while a delayed reply is pending, and permanently when the session hangs or has ended. */
  private isPaused = false;
  private messageCount = 0;

  constructor(
    private readonly sink: SmtpSink,
    socket: Socket,
    readonly connection: number,
  ) {
    this.socket = socket;
    if (sink.options.implicitTls) this.encrypt();
    else this.listen();
    const { banner = '220 mx.sink.test ESMTP' } = sink.options;
    if (banner === '') return;
    this.reply(banner);
    if (!banner.startsWith('2')) this.close();
    this.flush();
  }

  private listen(): void {
    this.socket.setNoDelay(true);
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk) => this.receive(chunk));
  }

  private encrypt(): void {
    this.socket.removeAllListeners('data');
    const encrypted = new TLSSocket(this.socket, { isServer: true, secureContext: this.sink.secureContext });
    encrypted.once('secure', () => (this.sink.resumedSessions += encrypted.isSessionReused() ? 1 : 0));
    this.socket = encrypted;
    this.helo = '';
    this.transaction = undefined;
    this.listen();
  }

  private receive(chunk: Buffer): void {
    this.input = this.input.length === 0 ? chunk : Buffer.concat([this.input, chunk]);
    this.process();
  }

  private process(): void {
    while (!this.isPaused && (this.body === undefined ? this.readCommand() : this.readBody(this.body)));
    this.flush();
  }

  private readCommand(): boolean {
    const end = this.input.indexOf('\r\n');
    if (end === -1) return false;
    const line = this.input.toString('utf8', 0, end);
    this.input = this.input.subarray(end + 2);
    if (!this.sink.options.countOnly) this.sink.commands.push(line);
    if (this.loginStep !== undefined) this.continueLogin(line);
    else this.obey(line);
    return true;
  }

  private obey(line: string): void {
    switch (line.slice(0, 4).toUpperCase()) {
      case 'MAIL':
        return this.mail(line);
      case 'RCPT':
        return this.rcpt(line);
      case 'DATA':
        return this.data();
      case 'EHLO':
        return this.ehlo(line);
      case 'HELO':
        this.helo = line.slice(5);
        return this.reply('250 mx.sink.test');
      case 'RSET':
        this.transaction = undefined;
        return this.reply('250 2.0.0 forgotten');
      case 'STAR':
        return this.startTls();
      case 'AUTH':
        return this.auth(line);
      case 'NOOP':
        return this.reply('250 2.0.0 nothing');
      case 'QUIT':
        this.reply('221 2.0.0 bye');
        return this.close();
      default:
        return this.reply('500 5.5.2 what?');
    }
  }

  private ehlo(line: string): void {
    const { options } = this.sink;
    if (options.ehlo === false) return this.reply('502 5.5.1 not known here');
    this.helo = line.slice(5);
    const offers = ['mx.sink.test', 'ENHANCEDSTATUSCODES'];
    if (options.pipelining !== false) offers.push('PIPELINING');
    if (options.eightBitMime !== false) offers.push('8BITMIME');
    if (options.smtpUtf8 !== false) offers.push('SMTPUTF8');
    if (options.dsn) offers.push('DSN');
    if (options.sizeLimit !== undefined) offers.push(`SIZE ${options.sizeLimit}`);
    if (options.startTls !== undefined && !this.isEncrypted) offers.push('STARTTLS');
    if (options.users !== undefined) offers.push(`AUTH ${(options.authMechanisms ?? ['PLAIN', 'LOGIN']).join(' ')}`);
    this.reply(offers.map((offer, index) => `250${index === offers.length - 1 ? ' ' : '-'}${offer}`).join('\r\n'));
  }

  private get isEncrypted(): boolean {
    return this.socket instanceof TLSSocket;
  }

  private startTls(): void {
    const { startTls } = this.sink.options;
    if (startTls === undefined || startTls === 'refuse') return this.reply('454 4.7.0 no TLS now');
    this.reply('220 2.0.0 go ahead');
    if (startTls === 'close') return this.close();
    if (startTls === 'plaintext') return this.reply('250 2.0.0 what next?');
    this.flush();
    this.input = EMPTY;
    this.encrypt();
  }

  private auth(line: string): void {
    const [, mechanism = '', initial = ''] = line.split(' ');
    if (mechanism.toUpperCase() === 'LOGIN') {
      this.loginStep = {};
      return this.reply('334 VXNlcm5hbWU6');
    }
    const [, user = '', password = ''] = Buffer.from(initial, 'base64').toString('utf8').split('\0');
    this.logIn(user, password);
  }

  private continueLogin(line: string): void {
    const answer = Buffer.from(line, 'base64').toString('utf8');
    const user = this.loginStep?.user;
    if (user === undefined) {
      this.loginStep = { user: answer };
      return this.reply('334 UGFzc3dvcmQ6');
    }
    this.loginStep = undefined;
    this.logIn(user, answer);
  }

  private logIn(user: string, password: string): void {
    if (this.sink.options.users?.[user] !== password) return this.reply('535 5.7.8 wrong');
    this.user = user;
    this.reply('235 2.7.0 welcome');
  }

  private mail(line: string): void {
    const { options } = this.sink;
    if (this.messageCount >= (options.maxMessagesPerConnection ?? Infinity)) {
      this.reply('421 4.7.0 too many messages');
      return this.close();
    }
    if (this.transaction !== undefined) return this.reply('503 5.5.1 nested MAIL');
    if (options.users !== undefined && this.user === undefined) return this.reply('530 5.7.0 log in first');
    const [from = '', ...parameters] = line.slice(10).split(' ');
    // The recipient is known here only when it was pipelined; without PIPELINING the sender's local part may name a behaviour.
    const ahead = /^RCPT TO:<([^>]*)>/i.exec(this.input.toString('latin1', 0, 400))?.[1];
    const asked = (ahead !== undefined && this.sink.behaviourFor(ahead)) || this.sink.behaviourFor(pathOf(from));
    if (this.misbehave('mail', asked ? [asked] : [])) return;
    this.transaction = { from: pathOf(from), parameters, recipients: [] };
    this.reply('250 2.1.0 sender ok');
  }

  private rcpt(line: string): void {
    if (this.transaction === undefined) return this.reply('503 5.5.1 MAIL first');
    const recipient = pathOf(line.slice(8));
    const asked = this.sink.behaviourFor(recipient);
    if (asked?.act === 'greylist' && this.sink.isFirstVisit(recipient)) return this.reply('450 4.7.1 come back later');
    if (this.misbehave('rcpt', asked ? [asked] : [])) return;
    this.transaction.recipients.push(recipient);
    this.reply('250 2.1.5 recipient ok');
  }

  private data(): void {
    if (this.transaction === undefined) return this.reply('503 5.5.1 MAIL first');
    if (this.transaction.recipients.length === 0) {
      if (!this.sink.options.dataWithoutRecipients) return this.reply('554 5.5.1 no valid recipients');
    } else if (this.misbehave('data', this.behaviours())) return;
    this.body = new SmtpSinkBody();
    this.reply('354 go ahead');
  }

  private readBody(body: SmtpSinkBody): boolean {
    if (this.input.length < 3) return false;
    if (body.isEmpty && this.misbehave('body', this.behaviours())) return false;
    this.input = body.read(this.input);
    if (body.stuffed === undefined) return false;
    this.finish(body.stuffed);
    return true;
  }

  private finish(stuffed: Buffer): void {
    this.body = undefined;
    const transaction = this.transaction ?? { from: '', parameters: [], recipients: [] };
    this.transaction = undefined;
    this.messageCount += 1;
    if (transaction.recipients.length === 0) return this.reply('554 5.5.1 no valid recipients');
    const asked = transaction.recipients.flatMap((recipient) => this.sink.behaviourFor(recipient) ?? []);
    const accept = (isAnswered: boolean): void => this.record(transaction, stuffed, isAnswered);
    if (asked.length > 0 && this.misbehave('dot', asked, accept)) return;
    accept(true);
    this.reply('250 2.0.0 taken');
  }

  private record(transaction: Transaction, stuffed: Buffer, isAnswered: boolean): void {
    if (this.sink.options.countOnly) return this.sink.count();
    const { helo, user, connection } = this;
    const tls = this.isEncrypted;
    this.sink.record({ ...transaction, content: unstuff(stuffed), helo, user, tls, connection }, isAnswered);
  }

  private behaviours(): SinkBehaviour[] {
    return (this.transaction?.recipients ?? []).flatMap((recipient) => this.sink.behaviourFor(recipient) ?? []);
  }

  /** True when a behaviour replaced the ordinary reply. */
  private misbehave(phase: SinkPhase, asked: SinkBehaviour[], take?: (isAnswered: boolean) => void): boolean {
    this.delay(phase, asked);
    const behaviour = asked.find((each) => each.act !== 'delay' && each.phase === phase);
    if (behaviour === undefined || behaviour.act === 'delay' || behaviour.act === 'greylist') return false;
    if (behaviour.act === 'reply') {
      this.reply(behaviour.line);
      if (behaviour.line.startsWith('421')) this.close();
      return true;
    }
    take?.(behaviour.act.startsWith('accept'));
    if (behaviour.act.startsWith('accept')) this.reply('250 2.0.0 taken');
    if (behaviour.act === 'hang') this.hang();
    else if (behaviour.act.endsWith('reset')) this.reset();
    else this.close();
    return true;
  }

  private delay(phase: SinkPhase, asked: SinkBehaviour[]): void {
    for (const behaviour of asked) {
      if (behaviour.act === 'delay' && behaviour.phases.includes(phase)) this.pause(behaviour.delayMs);
    }
  }

  private reply(line: string): void {
    this.output += `${line}\r\n`;
  }

  private flush(): void {
    if (this.output === '' || this.isPaused) return;
    this.socket.write(this.output);
    this.output = '';
  }

  /** Writes the replies that are due, then delays the next one. */
  private pause(delayMs: number): void {
    this.flush();
    this.isPaused = true;
    const goOn = (): void => {
      this.isPaused = false;
      this.flush();
      this.process();
    };
    if (delayMs === Infinity) this.sink.hold(goOn);
    else setTimeout(goOn, delayMs).unref();
  }

  private hang(): void {
    this.flush();
    this.isPaused = true;
    this.input = EMPTY;
    this.socket.removeAllListeners('data');
    this.socket.pause();
  }

  private close(): void {
    this.flush();
    this.isPaused = true;
    this.socket.end();
    this.socket.removeAllListeners('data');
    this.socket.resume();
  }

  private reset(): void {
    this.flush();
    this.isPaused = true;
    reset(this.socket);
  }
}

function pathOf(text: string): string {
  return text.slice(text.indexOf('<') + 1, text.lastIndexOf('>'));
}
