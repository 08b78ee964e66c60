import { Injectable } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { type Clock, MINUTE, SECOND } from '../../common/clock';

/** What one client, and all of them together, may take of the responder. */
@Injectable()
export class DkimZoneLimits {
  /** Larger than any query with its options; more is garbage. */
  readonly maxQueryBytes: number = 4_096;
  /** Datagrams under way; further ones are dropped, and their senders try again. */
  readonly maxPending: number = 1_000;
  /** Over UDP, to the addresses of one /24 or /56; beyond it replies are truncated, so that a real client comes over TCP. */
  readonly repliesPerSecond: number = 200;
  /** TCP connections at a time. */
  readonly maxConnections: number = 200;
  /** Of them, from one IPv4 address or one /64 of IPv6: a resolver needs a few, and must not be kept out by another client's. */
  readonly maxConnectionsPerClient: number = 20;
  /** Without a byte from the client, or without one taken by it (RFC 7766 section 6.2.3). */
  readonly idleMs: number = 10 * SECOND;
  /** For a whole connection, however busy it looks. */
  readonly connectionMs: number = MINUTE;
}

const MAX_PREFIXES = 10_000;

interface Count {
  readonly second: number;
  replies: number;
}

/**
 * Counts replies for each client network. UDP senders can be forged: without a limit, an attacker could have us flood
 * a third party with replies that are larger than the queries.
 */
export class ReplyRate {
  private readonly counts = new LRUCache<string, Count>(atMost(MAX_PREFIXES));

  constructor(
    private readonly maxPerSecond: number,
    private readonly clock: Clock,
  ) {}

  /** Counts one reply; true when the network has had its share of this second. */
  isExceeded(address: string): boolean {
    const network = networkOf(address);
    const second = Math.floor(this.clock.monotonicMs() / SECOND);
    const known = this.counts.get(network);
    const count = known?.second === second ? known : { second, replies: 0 };
    if (count !== known) this.counts.set(network, count);
    count.replies += 1;
    return count.replies > this.maxPerSecond;
  }
}

/** /24 of IPv4, /56 of IPv6: what one customer of a network usually has. */
function networkOf(address: string): string {
  // A link-local address comes with the name of its interface.
  const bytes = ipaddr.process(address.replace(/%.*$/, '')).toByteArray();
  return bytes.slice(0, bytes.length === 4 ? 3 : 7).join('.');
}
