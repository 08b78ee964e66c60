import { LRUCache } from 'lru-cache';
import { MINUTE, type Clock } from '../../common/clock';
import type { SmtpEndpoint } from './smtp-endpoint';
import { MessageCap, SilentTls, TlsSessions } from './host-memory';
import { SmtpPool, type SmtpPoolOptions } from './smtp-pool';

/** Hosts that connections are kept to; the longest unused are closed first. */
const MAX_POOLS = 2_000;

type Hop = Pick<SmtpEndpoint, 'hostName' | 'address' | 'port' | 'source'>;

/** One connection pool per next hop, made when first needed and closed after minutes without use. */
export class NextHopPools {
  /** Dropped, but not done: they finish what they have begun, unless `destroy` cuts them off. */
  private readonly closing = new Set<SmtpPool>();
  private readonly pools = new LRUCache<string, SmtpPool>({
    max: MAX_POOLS,
    ttl: 5 * MINUTE,
    updateAgeOnGet: true,
    dispose: (pool) => void this.retire(pool),
  });

  /** Limits of hosts per connection, whichever of their addresses sent them. */
  private readonly caps = new LRUCache<string, MessageCap>({ max: MAX_POOLS });

  private readonly tlsSessions = new TlsSessions();

  private readonly silentTls: SilentTls;

  constructor(
    private readonly options: SmtpPoolOptions,
    clock: Clock,
  ) {
    this.silentTls = new SilentTls(clock);
  }

  to(endpoint: SmtpEndpoint): SmtpPool {
    const key = keyOf(endpoint);
    const known = this.pools.get(key);
    if (known) return known;
    const { tlsSessions, silentTls } = this;
    const pool = new SmtpPool(endpoint, { ...this.options, cap: this.capOf(endpoint), tlsSessions, silentTls });
    this.pools.set(key, pool);
    return pool;
  }

  /** False when one more job there would have to wait for a connection. */
  hasRoomAt(endpoint: Hop): boolean {
    return this.pools.peek(keyOf(endpoint))?.hasRoom ?? true;
  }

  /** How many messages a connection to a host carries at most, and how long it is kept unused. */
  limit(endpoint: SmtpEndpoint, messages: number, idleSeconds: number): void {
    this.capOf(endpoint).keepWithin(messages, idleSeconds);
  }

  private capOf({ hostName, port }: SmtpEndpoint): MessageCap {
    const key = `${hostName} ${port}`;
    const cap = this.caps.get(key) ?? new MessageCap();
    this.caps.set(key, cap);
    return cap;
  }

  get openConnections(): number {
    return [...this.pools.values(), ...this.closing].reduce((sum, pool) => sum + pool.openConnections, 0);
  }

  /** Ends jobs that wait for a connection; those on a connection continue. */
  dropWaiting(): void {
    for (const pool of [...this.pools.values(), ...this.closing]) pool.dropWaiting();
  }

  /** Waits for running conversations. */
  async close(): Promise<void> {
    const pools = [...this.pools.values(), ...this.closing];
    this.pools.clear();
    await Promise.all(pools.map((pool) => pool.close()));
  }

  /** Ends every conversation now. */
  destroy(): void {
    for (const pool of [...this.pools.values(), ...this.closing]) pool.destroy();
  }

  private async retire(pool: SmtpPool): Promise<void> {
    this.closing.add(pool);
    await pool.close();
    this.closing.delete(pool);
  }
}

function keyOf({ hostName, address, port, source }: Hop): string {
  return `${hostName} ${address} ${port} ${source?.address ?? ''}`;
}
