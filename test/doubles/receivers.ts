import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { TEST_CERTIFICATE } from './tls-certificate';

/** Where a receiver says something else than yes. */
export type ReceiverPhase = 'greeting' | 'mail' | 'rcpt' | 'data' | 'final';

/** How a receiver behaves; without anything it takes all mail. */
export interface ReceiverScript {
  /** What it says in a phase instead of yes: all lines, with `\n` between. 421 and 554 at the greeting close as well. */
  readonly refuses?: { readonly phase: ReceiverPhase; readonly reply: string };
  /** So many refusals, then it takes mail; by default it never does. */
  readonly times?: number;
  /** More connections than these at a time are refused at the greeting. */
  readonly maxConnections?: { readonly count: number; readonly reply: string };
  /** Before it takes a mail it waits for this. */
  readonly holds?: Promise<unknown>;
  /** Replies byte by byte. */
  readonly drips?: boolean;
  /** `offer`: works. `refuse`: 454. `garbage`: 220, then no TLS. `close`: 220, then the connection ends. */
  readonly startTls?: 'offer' | 'refuse' | 'garbage' | 'close';
}

export interface ReceivedMail {
  readonly address: string;
  readonly recipient: string;
  readonly tls: boolean;
}

/**
 * Receivers of mail, one for each address of 127.0.0.0/8, behind one port: each follows its script.
 *
 *     const receivers = await Receivers.start();
 *     receivers.scripts.set('127.1.0.1', { refuses: { phase: 'rcpt', reply: '550 5.1.1 No such user' } });
 */
export class Receivers {
  readonly scripts = new Map<string, ReceiverScript>();
  readonly mails: ReceivedMail[] = [];
  /** By address: most that were open at a time. */
  readonly peak = new Map<string, number>();
  private readonly open = new Map<string, number>();
  private readonly refusals = new Map<string, number>();
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receivers> {
    const server = createServer();
    const receivers = new Receivers(server);
    server.on('connection', (socket) => receivers.take(socket));
    server.listen(0, '0.0.0.0');
    await once(server, 'listening');
    return receivers;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Connections that are open now, and have not said QUIT. */
  openAt(address: string): number {
    return this.open.get(address) ?? 0;
  }

  /** The refusal of a phase, if it is due. */
  refusalAt(address: string, phase: ReceiverPhase): string | undefined {
    const { refuses, times = Infinity, maxConnections } = this.scripts.get(address) ?? {};
    const isFull = maxConnections !== undefined && (this.open.get(address) ?? 0) > maxConnections.count;
    if (phase === 'greeting' && isFull) return maxConnections.reply;
    const made = this.refusals.get(address) ?? 0;
    if (refuses?.phase !== phase || made >= times) return undefined;
    this.refusals.set(address, made + 1);
    return refuses.reply;
  }

  private take(socket: Socket): void {
    const address = socket.localAddress ?? '';
    this.sockets.add(socket);
    this.count(address, 1);
    let isOpen = true;
    const end = (): void => {
      if (isOpen) this.count(address, -1);
      isOpen = false;
    };
    socket.on('error', () => undefined).on('close', end);
    new Session(this, address, socket, end).begin();
  }

  private count(address: string, by: 1 | -1): void {
    const open = (this.open.get(address) ?? 0) + by;
    this.open.set(address, open);
    this.peak.set(address, Math.max(open, this.peak.get(address) ?? 0));
  }
}

/** One connection. */
class Session {
  private input = '';
  private isData = false;
  private recipient = '';
  private writing = Promise.resolve();

  constructor(
    private readonly receivers: Receivers,
    private readonly address: string,
    private socket: Socket,
    /** The client has ended it: what is left of it are the reply to QUIT and its close, which take a busy machine a while. */
    private readonly isLeft: () => void,
  ) {}

  private get script(): ReceiverScript {
    return this.receivers.scripts.get(this.address) ?? {};
  }

  begin(): void {
    this.listen();
    const refusal = this.receivers.refusalAt(this.address, 'greeting');
    this.say(refusal ?? '220 receiver.example ESMTP');
    if (refusal !== undefined) this.end();
  }

  private listen(): void {
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk: Buffer) => {
      this.input += chunk.toString('latin1');
      this.read();
    });
  }

  private read(): void {
    for (;;) {
      const marker = this.isData ? '\r\n.\r\n' : '\r\n';
      const end = this.input.indexOf(marker);
      if (end === -1) return;
      const text = this.input.slice(0, end);
      this.input = this.input.slice(end + marker.length);
      if (this.isData) this.takeMail();
      else if (!this.obey(text)) return;
    }
  }

  /** False when the connection goes on as another one. */
  private obey(line: string): boolean {
    const verb = line.slice(0, 4).toUpperCase();
    switch (verb) {
      case 'EHLO':
        this.say(
          this.script.startTls && !this.isSecure ? '250-receiver.example\n250 STARTTLS' : '250 receiver.example',
        );
        return true;
      case 'STAR':
        return this.startTls();
      case 'MAIL':
        this.answer('mail', '250 ok');
        return true;
      case 'RCPT':
        this.recipient = /<([^>]*)>/.exec(line)?.[1] ?? '';
        if (!this.answer('rcpt', '250 ok')) this.recipient = '';
        return true;
      case 'DATA':
        this.isData = this.recipient !== '' && this.answer('data', '354 go on');
        if (this.recipient === '') this.say('503 5.5.1 No recipient');
        return true;
      case 'QUIT':
        this.isLeft();
        this.say('221 bye');
        this.end();
        return true;
      default:
        this.say('250 ok');
        return true;
    }
  }

  private get isSecure(): boolean {
    return this.socket instanceof TLSSocket;
  }

  private takeMail(): void {
    this.isData = false;
    const { holds } = this.script;
    if (holds) void holds.then(() => this.judgeMail());
    else this.judgeMail();
  }

  private judgeMail(): void {
    if (!this.answer('final', '250 2.0.0 taken')) return;
    this.receivers.mails.push({ address: this.address, recipient: this.recipient, tls: this.isSecure });
  }

  private startTls(): boolean {
    const { startTls } = this.script;
    if (startTls === 'refuse') {
      this.say('454 4.7.0 TLS not available due to a temporary reason');
      return true;
    }
    this.socket.write('220 go ahead\r\n');
    if (startTls === 'garbage') this.socket.end('this is no TLS at all\r\n');
    else if (startTls === 'close') this.socket.end();
    else this.encrypt();
    return false;
  }

  private encrypt(): void {
    const { key, cert } = TEST_CERTIFICATE;
    this.socket.removeAllListeners('data');
    this.socket = new TLSSocket(this.socket, { isServer: true, key, cert });
    this.listen();
  }

  private answer(phase: ReceiverPhase, yes: string): boolean {
    const refusal = this.receivers.refusalAt(this.address, phase);
    this.say(refusal ?? yes);
    if (refusal?.startsWith('421')) this.end();
    return refusal === undefined;
  }

  private say(reply: string): void {
    const bytes = Buffer.from(`${reply.replaceAll('\n', '\r\n')}\r\n`);
    if (!this.script.drips) {
      this.writing = this.writing.then(() => void this.socket.write(bytes));
      return;
    }
    this.writing = this.writing.then(async () => {
      for (const byte of bytes) {
        this.socket.write(Buffer.from([byte]));
        await nextTurn();
      }
    });
  }

  private end(): void {
    void this.writing.then(() => this.socket.end());
  }
}
