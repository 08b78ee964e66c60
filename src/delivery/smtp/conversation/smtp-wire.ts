import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { TLSSocket, type ConnectionOptions } from 'node:tls';
import type { X509Certificate } from 'node:crypto';
import { MAX_CHAIN } from './tlsa';
import { connectMeasured } from '../../../common/tls/measured-socket';
import { Deadline } from './smtp-timeouts';
import { lastLine, type SmtpReply, SmtpReplyParser } from './smtp-reply';
import type { Encryption } from '../../ports/attempt-trace';
import { ABORTED, CLOSED, faultOf, protocolFault, tlsFaultOf, type WireFault } from './smtp-result';

/**
 * Commands out, replies in: a socket that counts the replies due, and does not interpret them.
 *
 * States: open, until the first fault; then faulted, finally, with the socket destroyed. Replies that came before the fault can
 * still be read, so that `421` and a close, or `250` and a reset, are seen in the order in which they came.
 *
 * A reply that is not due is a fault: it would otherwise be taken for the reply to the next command. The only exception is
 * `acceptsEarlyReply`, for a server that refuses a message while it is being written.
 *
 * One caller waits at a time; faults are values.
 */
export class SmtpWire {
  readonly deadline = new Deadline();
  acceptsEarlyReply = false;
  private socket: Socket | undefined;
  private readonly parser = new SmtpReplyParser();
  private readonly replies: SmtpReply[] = [];
  private owed = 0;
  private wakeCaller: (() => void) | undefined;
  private firstFault: WireFault | undefined;
  private secure = false;
  private spentMs = 0;

  /** @param onClosed called once, at the first fault. */
  constructor(private readonly onClosed: () => void) {}

  get fault(): WireFault | undefined {
    return this.firstFault;
  }

  /** True once a TLS handshake has succeeded. */
  get isSecure(): boolean {
    return this.secure;
  }

  /**
   * The connection's encryption.
   * @param earlier the handshake whose session this one may have resumed: the platform then compares no names
   */
  encryption(earlier?: TlsProof): Encryption | undefined {
    if (!this.secure || !(this.socket instanceof TLSSocket)) return undefined;
    // Not available when the connection is closed.
    const cipher = this.socket.getCipher() as { standardName?: string; name?: string } | undefined;
    const name = cipher?.standardName ?? cipher?.name ?? '';
    const proof = this.socket.isSessionReused() && earlier ? earlier : proofOf(this.socket);
    return { version: this.socket.getProtocol() ?? '', cipher: name, ...proof };
  }

  /** The certificates that the other side has shown, in DER, the leaf first; ten at most. */
  peerChain(): Buffer[] {
    const chain: Buffer[] = [];
    if (!(this.socket instanceof TLSSocket)) return chain;
    // One by one: all that a chain may have take 20 ms to read.
    let next: X509Certificate | undefined = this.socket.getPeerX509Certificate();
    while (next && chain.length < MAX_CHAIN) {
      chain.push(next.raw);
      next = next.issuerCertificate;
    }
    return chain;
  }

  /** What the TLS handshake has taken of the event loop. */
  get handshakeMs(): number {
    return this.spentMs;
  }

  get remoteAddress(): string | undefined {
    return this.socket?.remoteAddress;
  }

  /** A reply that has come already, if any. */
  takeReply(): SmtpReply | undefined {
    return this.replies.shift();
  }

  /** @param localAddress the system's choice when undefined */
  async connect(address: string, port: number, seconds: number, localAddress?: string): Promise<WireFault | undefined> {
    if (this.firstFault !== undefined) return this.firstFault;
    const socket = connectTcp({ host: address, port, noDelay: true, localAddress });
    this.attach(socket);
    socket.once('connect', this.wake);
    await this.wait(seconds);
    return this.firstFault;
  }

  /**
   * Puts TLS on the connection. Plaintext already received would have been a fault (RFC 3207 section 4.2).
   * @param holder in whose turns of the event loop it is decrypted
   * @param onSession gets what the server gives to continue with on the next connection, once this one stands
   */
  async encrypt(
    options: ConnectionOptions,
    holder: string,
    seconds: number,
    onSession: (ticket: Buffer) => void = () => undefined,
  ): Promise<WireFault | undefined> {
    const plain = this.socket;
    if (this.firstFault !== undefined || plain === undefined) return this.firstFault;
    this.detach(plain);
    const { encrypted, handshakeMs } = connectMeasured(plain, holder, options);
    this.attach(encrypted);
    let early: Buffer | undefined;
    // With TLS 1.2 it comes before the certificate has been checked, with 1.3 after.
    encrypted.on('session', (ticket: Buffer) => (this.secure ? onSession(ticket) : (early = ticket)));
    encrypted.once('secureConnect', () => {
      this.secure = true;
      this.wake();
    });
    await this.wait(seconds);
    this.spentMs = handshakeMs();
    // After the caller has taken note of the handshake.
    if (early !== undefined && this.firstFault === undefined) setImmediate(onSession, early);
    return this.firstFault;
  }

  /** Expects a reply without a command: the banner. */
  expectBanner(): void {
    this.owed += 1;
  }

  /** Writes a command that expects `replies` replies; does nothing on a faulted wire. */
  write(data: string | Buffer, replies: number, encoding: 'latin1' | 'utf8' = 'latin1'): void {
    if (this.firstFault !== undefined || this.socket === undefined) return;
    this.owed += replies;
    this.socket.write(data, encoding);
  }

  /** Writes part of a message and waits until the system has taken it, a reply comes early, or a fault occurs. */
  async writeBlock(block: Buffer, seconds: number): Promise<WireFault | undefined> {
    if (this.firstFault !== undefined || this.socket === undefined) return this.firstFault;
    this.socket.write(block, this.wake);
    await this.wait(seconds);
    return this.firstFault;
  }

  /** The next reply, in order, or the fault that keeps it from coming. */
  async reply(seconds: number): Promise<SmtpReply | WireFault> {
    for (;;) {
      const next = this.replies.shift() ?? this.firstFault;
      if (next !== undefined) return next;
      await this.wait(seconds);
    }
  }

  /**
   * Waits for something of this side, such as a place, until a fault or the time limit: the server waits meanwhile.
   * @param begin its signal is aborted at a fault; it is to reject then, unless it has what it waits for
   * @param late the fault that passing the limit is
   */
  async whileOpen<T extends object>(
    begin: (signal: AbortSignal) => Promise<T>,
    seconds: number,
    late: WireFault,
  ): Promise<T | WireFault> {
    if (this.firstFault !== undefined) return this.firstFault;
    const gone = new AbortController();
    this.wakeCaller = () => gone.abort();
    this.deadline.set(seconds, () => this.destroy(late));
    try {
      return await begin(gone.signal);
    } catch (error) {
      if (this.firstFault !== undefined) return this.firstFault;
      throw error;
    } finally {
      this.wakeCaller = undefined;
      this.deadline.clear();
    }
  }

  destroy(fault: WireFault = ABORTED): void {
    if (this.firstFault !== undefined) return;
    this.firstFault = fault;
    this.deadline.dispose();
    this.socket?.destroy();
    this.wake();
    this.onClosed();
  }

  private wait(seconds: number): Promise<void> {
    this.deadline.set(seconds, this.onTimeout);
    return new Promise((resolve) => {
      this.wakeCaller = resolve;
    });
  }

  private readonly wake = (): void => {
    const resolve = this.wakeCaller;
    if (resolve === undefined) return;
    this.wakeCaller = undefined;
    this.deadline.clear();
    resolve();
  };

  private readonly onTimeout = (): void => {
    this.destroy({ cause: 'timeout', detail: 'The server did not answer in time' });
  };

  private readonly onData = (chunk: Buffer): void => {
    for (const reply of this.parser.push(chunk)) this.take(reply);
    if (this.parser.violation !== undefined) this.destroy(protocolFault(this.parser.violation));
    const isOwed = this.owed > 0 || this.acceptsEarlyReply;
    if (!isOwed && !this.parser.isBetweenReplies) this.destroy(protocolFault('bytes that were not asked for'));
  };

  private take(reply: SmtpReply): void {
    if (this.owed > 0) this.owed -= 1;
    else if (!this.acceptsEarlyReply || this.replies.length > 0) {
      return this.destroy(protocolFault(`a reply that was not asked for: "${lastLine(reply)}"`));
    }
    this.replies.push(reply);
    this.wake();
  }

  private readonly onError = (error: Error): void => this.destroy(faultOf(error, this.usesTls));
  private readonly onEnd = (): void => this.destroy(CLOSED);

  private get usesTls(): boolean {
    return this.socket instanceof TLSSocket;
  }

  private attach(socket: Socket): void {
    this.socket = socket;
    socket.on('data', this.onData).on('error', this.onError).on('end', this.onEnd).on('close', this.onEnd);
  }

  /** The TLS socket reports the errors of the one below it; without a listener there they would end the process. */
  private detach(socket: Socket): void {
    socket.off('data', this.onData).off('error', this.onError).off('end', this.onEnd).off('close', this.onEnd);
    socket.on('error', () => undefined);
  }
}

/** Whether a certificate proves the host; if not, why. */
export type TlsProof = Pick<Encryption, 'verified' | 'fault'>;

/** The platform sets the code of the failed check, although its types omit it. */
function proofOf({ authorized, authorizationError }: TLSSocket): TlsProof {
  return authorized ? { verified: true } : { verified: false, fault: tlsFaultOf(String(authorizationError)) };
}
