import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { behaviourOf } from './smtp-sink-behaviour';
import type { SinkBehaviour } from './smtp-sink-behaviour';
import { createSecureContext } from 'node:tls';
import { SmtpSinkSession } from './smtp-sink-session';
import { WAIT_LIMIT_MS } from '../setup/wait-for';
import { TEST_CERTIFICATE } from './tls-certificate';

export interface SmtpSinkOptions {
  port?: number;
  /** The whole first line; anything but 2xx closes the connection after it, and an empty one is never sent. */
  banner?: string;
  /** False: EHLO is refused, HELO works. */
  ehlo?: boolean;
  pipelining?: boolean;
  eightBitMime?: boolean;
  smtpUtf8?: boolean;
  /** Offered; no notifications are sent. */
  dsn?: boolean;
  /** Advertised, not enforced. */
  sizeLimit?: number;
  /** Behaviour of STARTTLS; not offered by default. */
  startTls?: 'offer' | 'refuse' | 'close' | 'plaintext';
  implicitTls?: boolean;
  /** PEM; the test certificate by default. */
  certificate?: { key: string; cert: string };
  /** Passwords by user; login is required when set. */
  users?: Readonly<Record<string, string>>;
  authMechanisms?: readonly string[];
  /** After this many, the next MAIL gets 421. */
  maxMessagesPerConnection?: number;
  /** Replies 354 although every recipient was refused, as some servers do (RFC 2920 section 3.1). */
  dataWithoutRecipients?: boolean;
  /** For measurements: keeps only a count. */
  countOnly?: boolean;
}

/** One message as the sink received it. */
export interface SinkMessage {
  from: string;
  /** Of the MAIL command: `SIZE=…`, `BODY=8BITMIME`, `SMTPUTF8`. */
  parameters: string[];
  recipients: string[];
  /** Without dot-stuffing and final dot. */
  content: Buffer;
  helo: string;
  user: string | undefined;
  tls: boolean;
  /** Number of the connection, from 1. */
  connection: number;
}

interface Waiter {
  isMet: () => boolean;
  resolve: () => void;
}

/**
 * A receiving server for tests on 127.0.0.1 that accepts all mail, unless a recipient's local part (see `behaviourOf`) or
 * an entry of `behaviours` names a fault.
 *
 *     const sink = await SmtpSink.start({ startTls: 'offer' });
 *     … sink.port … await sink.waitForMessages(2); sink.messages …
 *     await sink.stop();
 */
export class SmtpSink {
  /** Accepted with 250, in order. */
  readonly messages: SinkMessage[] = [];
  /** Received completely and never replied to: `close-after-dot`, `hang-after-dot`, `reset-after-dot`. */
  readonly unanswered: SinkMessage[] = [];
  /** Every command line, of all connections, as received. */
  readonly commands: string[] = [];
  /** Behaviour names by whole address; they take precedence over the local part, and may change at any time. */
  readonly behaviours = new Map<string, string>();
  /** Number of messages received, also when `countOnly` keeps none of them. */
  messageCount = 0;
  /** Connections so far. */
  connectionCount = 0;
  /** Handshakes that continued an earlier session. */
  resumedSessions = 0;
  /** One for all connections, so that a session can be continued on another. */
  readonly secureContext;
  /** Peak number of open connections. */
  peakConnections = 0;
  private readonly sockets = new Set<Socket>();
  private readonly visits = new Set<string>();
  private readonly waiters = new Set<Waiter>();
  private readonly held: (() => void)[] = [];
  private readonly server: Server;

  private constructor(readonly options: SmtpSinkOptions) {
    const { key, cert } = options.certificate ?? TEST_CERTIFICATE;
    this.secureContext = createSecureContext({ key, cert });
    this.server = createServer({ allowHalfOpen: false }, (socket) => this.welcome(socket));
  }

  static async start(options: SmtpSinkOptions = {}): Promise<SmtpSink> {
    const sink = new SmtpSink(options);
    sink.server.listen(options.port ?? 0, '127.0.0.1');
    await once(sink.server, 'listening');
    return sink;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get openConnections(): number {
    return this.sockets.size;
  }

  /** Waits for at least that many messages and returns them; fails after a minute. */
  async waitForMessages(count: number): Promise<readonly SinkMessage[]> {
    await this.waitFor(() => this.messageCount >= count, `${count} messages`);
    return this.messages;
  }

  /** Waits until a condition on the sink holds; checked whenever a message arrives or a connection opens or closes. */
  async waitFor(isMet: () => boolean, what = 'a condition'): Promise<void> {
    if (isMet()) return;
    await new Promise<void>((resolve, reject) => {
      const waiter = { isMet, resolve: () => (clearTimeout(timer), resolve()) };
      const timer = setTimeout(() => {
        this.waiters.delete(waiter);
        reject(new Error(`The sink waited in vain for ${what}; it has ${this.messageCount} messages`));
      }, WAIT_LIMIT_MS);
      this.waiters.add(waiter);
    });
  }

  /** Clears messages, commands and greylisted recipients. */
  clear(): void {
    this.messages.length = 0;
    this.unanswered.length = 0;
    this.commands.length = 0;
    this.messageCount = 0;
    this.visits.clear();
  }

  /** Lets go of the replies that `250-held` keeps. */
  release(): void {
    for (const goOn of this.held.splice(0)) goOn();
  }

  /** Ends every connection like a restarting server; accepts new ones. */
  dropConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.dropConnections();
    if (!this.server.listening) return;
    this.server.close();
    await once(this.server, 'close');
  }

  /** For the sessions. */
  behaviourFor(address: string): SinkBehaviour | undefined {
    const name = this.behaviours.get(address) ?? address.slice(0, Math.max(0, address.lastIndexOf('@')));
    return behaviourOf(name);
  }

  /** For the sessions. */
  hold(goOn: () => void): void {
    this.held.push(goOn);
  }

  /** For the sessions: true the first time that a recipient is named. */
  isFirstVisit(recipient: string): boolean {
    const isFirst = !this.visits.has(recipient);
    this.visits.add(recipient);
    return isFirst;
  }

  /** For the sessions. */
  record(message: SinkMessage, isAnswered: boolean): void {
    (isAnswered ? this.messages : this.unanswered).push(message);
    if (isAnswered) this.messageCount += 1;
    this.notify();
  }

  /** For the sessions, instead of `record`. */
  count(): void {
    this.messageCount += 1;
    if (this.waiters.size > 0) this.notify();
  }

  private welcome(socket: Socket): void {
    this.connectionCount += 1;
    this.sockets.add(socket);
    this.peakConnections = Math.max(this.peakConnections, this.sockets.size);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.notify();
    });
    new SmtpSinkSession(this, socket, this.connectionCount);
    this.notify();
  }

  private notify(): void {
    for (const waiter of this.waiters) {
      if (!waiter.isMet()) continue;
      this.waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
