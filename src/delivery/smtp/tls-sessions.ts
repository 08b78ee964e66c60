import { LRUCache } from 'lru-cache';
import { HOUR } from '../../common/clock';
import { demandOf, type SmtpEndpoint } from './smtp-endpoint';
import type { TlsProof } from './smtp-wire';

/** About 3 KB each, the certificate included. */
const MAX_SESSIONS = 1_000;
/** Servers keep theirs for minutes to hours; one that they have forgotten costs nothing but a whole handshake. */
const LIFE_MS = HOUR;

/** With the proof of the handshake that the session is from: a resumed one compares no names. */
export interface TlsTicket extends TlsProof {
  readonly ticket: Buffer;
}

/**
 * Sessions of TLS by host (RFC 8446 section 2.2), so that a new connection to a host costs no new keys. A session is
 * continued only under the demands that it was made under: what has not been verified must not pass for verified.
 */
export class TlsSessions {
  private readonly tickets = new LRUCache<string, TlsTicket>({ max: MAX_SESSIONS, ttl: LIFE_MS });

  find(endpoint: SmtpEndpoint): TlsTicket | undefined {
    return this.tickets.get(keyOf(endpoint));
  }

  keep(endpoint: SmtpEndpoint, ticket: TlsTicket): void {
    this.tickets.set(keyOf(endpoint), ticket);
  }

  forget(endpoint: SmtpEndpoint): void {
    this.tickets.delete(keyOf(endpoint));
  }
}

function keyOf(endpoint: SmtpEndpoint): string {
  return `${endpoint.hostName} ${endpoint.port} ${demandOf(endpoint)}`;
}
