import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { DEFAULT_CIPHERS, type SecureContextOptions } from 'node:tls';
import { FairLimit } from '../async/fair-turns';
import { CONNECTION_TURNS } from '../async/shared-turns';
import { SECOND } from '../clock';
import { clientNetworkOf } from '../http/client-address';
import { whenClientHello } from './client-hello';

/**
 * Of our servers: forward secrecy only (RFC 9325 section 4.1). With an RSA key exchange a key that is disclosed later opens all earlier
 * connections, and the costly step of a handshake comes with the client's second flight, which is not put in turn; nor is a
 * renegotiation.
 */
export const SERVER_TLS = {
  minVersion: 'TLSv1.2',
  ciphers: `${DEFAULT_CIPHERS}:!kRSA`,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} satisfies SecureContextOptions;

export interface HandshakeLimits {
  /** From the moment at which TLS may begin, however active the client is. */
  readonly ms: number;
  /** Under way at a time for one client network; others wait with their ClientHello. */
  readonly ofClient: number;
  /** Waiting of one client network; others are disconnected. */
  readonly waiting: number;
}

const LIMITS: HandshakeLimits = { ms: 30 * SECOND, ofClient: 20, waiting: 500 };

/** The TLS handshakes of a server: they begin in turns of the event loop, and are bounded in number and time. */
export class ServerHandshakes {
  private readonly limit: FairLimit;

  constructor(private readonly limits: HandshakeLimits = LIMITS) {
    this.limit = new FairLimit(Infinity, { atATime: limits.ofClient, waiting: limits.waiting });
  }

  /** @param begin starts TLS on the connection; returns its TLS socket, or the socket itself where it does not start. */
  run(socket: Socket, begin: () => Socket): void {
    const client = clientNetworkOf(socket.remoteAddress ?? '');
    // The upper one: Node can crash when a socket is destroyed from under TLS.
    let top = socket;
    const timer = setTimeout(() => top.destroy(), this.limits.ms).unref();
    const stop = (): void => clearTimeout(timer);
    socket.once('close', stop);
    const inTurn = (work: () => void) => (done: () => void) => {
      CONNECTION_TURNS.run(client, () => {
        if (socket.destroyed) return done();
        work();
        top.once('secure', stop).once('secure', done).once('close', stop).once('close', done);
      });
    };
    const take = (work: () => void): void =>
      void this.limit.run(client, () => new Promise<void>(inTurn(work))).catch(() => top.destroy());
    whenClientHello(socket, take, () => (top = begin()));
  }
}
