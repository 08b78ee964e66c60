import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, DEFAULT_CIPHERS, type SecureContextOptions } from 'node:tls';
import { keepClosingInTurns, tlsInTurns } from '../async/socket-turns';
import { SECOND } from '../clock';
import { clientNetworkOf, ownedNetworkOf } from '../network';
import { whenClientHello } from './client-hello';
import { endInTurn, type Handshake, HandshakePlaces, type PlaceLimits, type Shares } from './handshake-places';
import { asStream, tlsInputInTurns } from './tls-input';

/** By the numbers of RFC 8446 section 4.2.7; the first where OpenSSL has it (3.5). */
const GROUPS = [
  { id: 0x11ec, name: 'X25519MLKEM768' },
  { id: 0x001d, name: 'X25519' },
  { id: 0x0017, name: 'prime256v1' },
].filter(({ name }) => hasGroup(name));

function hasGroup(ecdhCurve: string): boolean {
  try {
    createSecureContext({ ecdhCurve });
    return true;
  } catch {
    return false;
  }
}

/**
 * Of our servers: forward secrecy only (RFC 9325 section 4.1). With an RSA key exchange a key that is disclosed later opens all earlier
 * connections, and the costly step of a handshake comes with the client's second flight, which is not put in turn; nor is a
 * renegotiation. So does the key exchange of TLS 1.2: with P-384 it takes 1.2 ms, with these groups 0.05 ms, and one of them is in every
 * client (RFC 8446 section 9.1). One of 8192 bits takes 10 ms.
 */
export const SERVER_TLS = {
  minVersion: 'TLSv1.2',
  ciphers: `${DEFAULT_CIPHERS}:!kRSA`,
  ecdhCurve: GROUPS.map(({ name }) => name).join(':'),
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} satisfies SecureContextOptions;

export interface HandshakeLimits extends PlaceLimits {
  /** From the moment at which TLS may begin, however active the client is. */
  readonly ms: number;
  /** For those in which TLS 1.3 asks for a second ClientHello, the one that costs a signature, which is not put in turn. */
  readonly retries: Shares;
}

/** What so many clients do at the same moment, 50 to 120 µs each, takes less than 50 ms of a turn of the event loop. */
const LIMITS: HandshakeLimits = {
  ms: 30 * SECOND,
  contestedMs: SECOND,
  inAll: 200,
  ofClient: 20,
  waiting: 500,
  retries: { inAll: 8, ofClient: 2 },
};

/**
 * The TLS handshakes of our servers: they begin in turns of the event loop, and are bounded in number and time. When all places are taken,
 * the next one is of the owner of networks who has the fewest, and of his network that has the fewest, networks in rotation.
 */
export class ServerHandshakes {
  private readonly first: HandshakePlaces;
  private readonly retried: HandshakePlaces;

  constructor(private readonly limits: HandshakeLimits = LIMITS) {
    this.first = new HandshakePlaces(limits);
    this.retried = new HandshakePlaces({ ...limits, ...limits.retries });
  }

  /** @param begin starts TLS on the connection; returns its TLS socket, or the socket itself where it does not start. */
  run(socket: Socket, begin: () => Socket): void {
    const client = clientNetworkOf(socket.remoteAddress ?? '');
    const owner = ownedNetworkOf(client);
    const handshake: Handshake = { client, owner, socket, top: socket, begin: () => true, isLate: false };
    const timer = setTimeout(() => endInTurn(handshake), this.limits.ms).unref();
    const stop = (): void => clearTimeout(timer);
    socket.once('close', stop);
    whenClientHello(
      socket,
      (work, hello) => {
        handshake.begin = work;
        const places = hello.needsRetry(GROUPS.map(({ id }) => id)) ? this.retried : this.first;
        places.enter(handshake);
      },
      () => {
        tlsInputInTurns(socket, client);
        const top = asStream(socket, begin);
        keepClosingInTurns(socket);
        handshake.top = top;
        top
          .once('secure', stop)
          .once('close', stop)
          .once('secure', () => tlsInTurns(top, client));
      },
    );
  }
}

/** Of all servers of the process. */
export const SERVER_HANDSHAKES = new ServerHandshakes();
