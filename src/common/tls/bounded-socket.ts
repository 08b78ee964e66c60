import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

/** `ERR_TLS_…`, as Node names its own. */
class HandshakeTooLongError extends Error {
  readonly code = 'ERR_TLS_HANDSHAKE_TOO_LONG';

  constructor(maxBytes: number) {
    super(`The server sends more than ${maxBytes} bytes before the connection is encrypted`);
  }
}

/**
 * Puts TLS on a connection, with a limit for what the server may send before it is encrypted. Node reads a socket below TLS without
 * JavaScript, so that nothing could come between a chain of certificates and its check; this costs a mail 60 µs more, of about a millisecond.
 */
export function connectBounded(socket: Socket, maxBytes: number, options: ConnectionOptions): TLSSocket {
  const bounded = new BoundedSocket(socket, maxBytes);
  const encrypted = connect({ ...options, socket: bounded }, () => bounded.lift());
  // What TLS reports of itself may be the end only.
  bounded.on('error', (error) => encrypted.destroy(error));
  return encrypted;
}

class BoundedSocket extends Duplex {
  private received = 0;
  private hasEnded = false;
  private maxBytes: number;

  constructor(
    private readonly socket: Socket,
    maxBytes: number,
  ) {
    super();
    this.maxBytes = maxBytes;
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', (error) => this.destroy(error));
    socket.on('end', () => {
      this.hasEnded = true;
      this.push(null);
    });
    // What came before the end is still to be read.
    socket.on('close', () => this.hasEnded || this.destroy());
  }

  /** The handshake is over. */
  lift(): void {
    this.maxBytes = Infinity;
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

  private receive(chunk: Buffer): void {
    this.received += chunk.length;
    if (this.received > this.maxBytes) this.destroy(new HandshakeTooLongError(this.maxBytes));
    else if (!this.push(chunk)) this.socket.pause();
  }
}
