import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { type Clock, SECOND } from '../../common/clock';

const MAX_PREFIXES = 10_000;

interface Count {
  readonly second: number;
  replies: number;
}

/**
 * Counts replies for each client network. UDP senders can be forged: without a limit, a stranger could have us flood
 * somebody else with replies that are larger than the queries.
 */
export class ReplyRate {
  private readonly counts = new LRUCache<string, Count>({ max: MAX_PREFIXES });

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
