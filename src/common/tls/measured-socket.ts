import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { tlsInputInTurns } from './tls-input';

/** The longest that servers are known to send before they are encrypted have 20 KiB, most of them names of authorities. */
const MAX_BYTES = 24 * 1024;

/** `ERR_TLS_…`, as Node names its own. */
class HandshakeTooLongError extends Error {
  readonly code = 'ERR_TLS_HANDSHAKE_TOO_LONG';

  constructor() {
    super(`The server sends more than ${MAX_BYTES} bytes before the connection is encrypted`);
  }
}

export interface MeasuredConnection {
  readonly encrypted: TLSSocket;
  /** What the handshake has taken of the event loop until now. */
  readonly handshakeMs: () => number;
}

/**
 * Puts TLS on a connection, with a limit of 24 KiB for what the server may send before it is encrypted; measures what its handshake takes,
 * and decrypts in turns of the event loop. Node reads a connection below TLS without JavaScript, so that nothing could come between a
 * chain of certificates, or a flood of changed keys, and the event loop; this costs a mail 70 µs more, of about a millisecond.
 * @param holder in whose turns it is
 */
export function connectMeasured(socket: Socket, holder: string, options: ConnectionOptions): MeasuredConnection {
  const measured = new MeasuredSocket(socket, holder);
  const encrypted = connect({ ...options, socket: measured }, () => measured.lift());
  // What TLS reports of itself may be the end only.
  measured.on('error', (error) => encrypted.destroy(error));
  return { encrypted, handshakeMs: () => measured.spentMs };
}

class MeasuredSocket extends Duplex {
  private received = 0;
  private hasEnded = false;
  private isEncrypted = false;
  private readonly watch = new LoopWatch();

  constructor(
    private readonly socket: Socket,
    holder: string,
  ) {
    super();
    const pieces = tlsInputInTurns(this, holder);
    let failure: Error | undefined;
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', (error) => {
      failure = error;
      pieces.afterHeld(() => this.destroy(error));
    });
    socket.on('end', () => {
      this.hasEnded = true;
      this.push(null);
    });
    // What came before the end is still to be read.
    socket.on('close', () => {
      if (!this.hasEnded) pieces.afterHeld(() => this.destroy(failure));
    });
  }

  get spentMs(): number {
    return this.watch.spentMs;
  }

  /** The handshake is over. */
  lift(): void {
    this.isEncrypted = true;
    this.watch.stop();
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }

  /** The check is made while TLS is given the data, which may be some time after it came. */
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== 'data' || this.isEncrypted) return super.emit(event, ...args);
    this.watch.start();
    try {
      return super.emit(event, ...args);
    } finally {
      this.watch.stop();
    }
  }

  private receive(chunk: Buffer): void {
    if (!this.isEncrypted) this.received += chunk.length;
    if (this.received > MAX_BYTES) this.destroy(new HandshakeTooLongError());
    else if (!this.push(chunk)) this.socket.pause();
  }
}

/**
 * Adds up time of the event loop, without pauses of the whole process: at a limit of the container's CPU they take up to 100 ms, and
 * take no CPU time. Other threads do, so the lesser of both times counts.
 */
class LoopWatch {
  private readonly earlier = { wallMs: 0, cpuMs: 0 };
  private since: { readonly wallMs: number; readonly cpuMs: number } | undefined;

  start(): void {
    this.since = now();
  }

  stop(): void {
    const { wallMs, cpuMs } = this.sum();
    Object.assign(this.earlier, { wallMs, cpuMs });
    this.since = undefined;
  }

  get spentMs(): number {
    const { wallMs, cpuMs } = this.sum();
    return Math.min(wallMs, cpuMs);
  }

  private sum(): { wallMs: number; cpuMs: number } {
    const { earlier, since } = this;
    if (!since) return earlier;
    const { wallMs, cpuMs } = now();
    return { wallMs: earlier.wallMs + wallMs - since.wallMs, cpuMs: earlier.cpuMs + cpuMs - since.cpuMs };
  }
}

function now(): { wallMs: number; cpuMs: number } {
  const { user, system } = process.cpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1_000 };
}
