import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../common/clock';
import type { SmtpEndpoint } from '../conversation/smtp-endpoint';
import { MessageCap, SilentTls, TlsSessions } from '../conversation/host-memory';
import { SmtpPool, type SmtpPoolOptions } from './smtp-pool';

/** Hosts that unused connections are kept to; the longest unused are closed first. */
const MAX_POOLS = 2_000;
/** Pools that are looked at to make room for one: a walk over all, for each new one, takes ever longer while all are in use. */
const LOOKS = 16;

type Hop = Pick<SmtpEndpoint, 'hostName' | 'address' | 'port' | 'source'>;

/**
 * One connection pool per next hop, made when first needed. One with a connection, or a job that may need one, is never dropped:
 * the next one to that host would know nothing of it, and open as many again.
 */
export class NextHopPools {
  /** The longest unused first. */
  private readonly pools = new Map<string, SmtpPool>();

  /** Limits of hosts per connection, whichever of their addresses sent them. */
  private readonly caps = new LRUCache<string, MessageCap>({ max: MAX_POOLS });

  private readonly tlsSessions = new TlsSessions();

  private readonly silentTls: SilentTls;

  constructor(
    private readonly options: SmtpPoolOptions,
    clock: Clock,
    private readonly mostPools = MAX_POOLS,
  ) {
    this.silentTls = new SilentTls(clock);
  }

  to(endpoint: SmtpEndpoint): SmtpPool {
    const key = keyOf(endpoint);
    const pool = this.pools.get(key) ?? this.add(endpoint);
    this.moveBack(key, pool);
    return pool;
  }

  /** False when one more job there would have to wait for a connection. */
  hasRoomAt(endpoint: Hop): boolean {
    return this.pools.get(keyOf(endpoint))?.hasRoom ?? true;
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
    return [...this.pools.values()].reduce((sum, pool) => sum + pool.openConnections, 0);
  }

  /** Ends jobs that wait for a connection; those on a connection continue. */
  dropWaiting(): void {
    for (const pool of this.pools.values()) pool.dropWaiting();
  }

  /** Waits for running conversations. */
  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.close()));
  }

  /** Ends every conversation now. */
  destroy(): void {
    for (const pool of this.pools.values()) pool.destroy();
  }

  private add(endpoint: SmtpEndpoint): SmtpPool {
    if (this.pools.size >= this.mostPools) this.makeRoom();
    const { tlsSessions, silentTls } = this;
    return new SmtpPool(endpoint, { ...this.options, cap: this.capOf(endpoint), tlsSessions, silentTls });
  }

  /** While more hosts than that are in use, their pools are more. */
  private makeRoom(): void {
    let idle: SmtpPool | undefined;
    for (const [key, pool] of [...this.oldest()]) {
      if (pool.isUnused) this.pools.delete(key);
      else if (pool.idleConnections > 0) idle ??= pool;
      else this.moveBack(key, pool);
    }
    // Dropped by a later call, once its connections are closed.
    if (this.pools.size >= this.mostPools) idle?.closeIdle();
  }

  /** It is in use, so that the next call looks at others. */
  private moveBack(key: string, pool: SmtpPool): void {
    this.pools.delete(key);
    this.pools.set(key, pool);
  }

  private *oldest(): Generator<[string, SmtpPool]> {
    let looks = 0;
    for (const entry of this.pools) {
      if ((looks += 1) > LOOKS) return;
      yield entry;
    }
  }
}

function keyOf({ hostName, address, port, source }: Hop): string {
  return `${hostName} ${address} ${port} ${source?.address ?? ''}`;
}
