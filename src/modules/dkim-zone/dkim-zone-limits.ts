import { Injectable } from '@nestjs/common';
import { MINUTE, SECOND } from '../../common/clock';

/** What one stranger, and all of them together, may take of the responder. */
@Injectable()
export class DkimZoneLimits {
  /** Larger than any query with its options; more is garbage. */
  readonly maxQueryBytes: number = 4_096;
  /** Datagrams under way; further ones are dropped, and their senders ask again. */
  readonly maxPending: number = 1_000;
  /** Over UDP, to the addresses of one /24 or /56; beyond it replies are truncated, so that a real client comes over TCP. */
  readonly repliesPerSecond: number = 200;
  /** TCP connections at a time. */
  readonly maxConnections: number = 200;
  /** Of them, from one address: a resolver needs a few, and must not be kept out by another client's. */
  readonly maxConnectionsPerClient: number = 20;
  /** Without a byte from the client, or without one taken by it (RFC 7766 section 6.2.3). */
  readonly idleMs: number = 10 * SECOND;
  /** For a whole connection, however busy it looks. */
  readonly connectionMs: number = MINUTE;
}
