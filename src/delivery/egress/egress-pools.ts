import { type Clock, HOUR } from '../../common/clock';
import type { ClaimedDelivery } from '../ports/delivery';
import type { Suspension } from '../shaping/destinations.repository';
import { DEFAULT_POOL, type EgressAddress, type EgressPool } from './pool-file';

/** Where one mail leaves from. */
export interface EgressSource extends EgressAddress {
  readonly pool: string;
}

/** A block list removes no address within minutes; each further refusal after it renews the suspension. */
const SUSPENDED_MS = HOUR;
const MAX_CAUSE = 500;

/**
 * Which address a mail leaves from: of the pool that names its organization, else of that for its category, else the
 * system's choice. The addresses of a pool take turns. One that a receiver refuses for its reputation is left out there
 * for an hour, by all workers; other receivers, other addresses and tenants have nothing to do with it.
 */
export class EgressPools {
  private readonly byOrganization: ReadonlyMap<string, EgressPool>;
  private readonly byCategory: ReadonlyMap<string, EgressPool>;
  private readonly turns = new Map<string, number>();
  /** On the monotonic clock, by address and group. */
  private readonly suspendedUntilMs = new Map<string, number>();
  private news: Suspension[] = [];

  constructor(
    readonly pools: readonly EgressPool[],
    private readonly clock: Clock,
  ) {
    this.byOrganization = new Map(pools.flatMap((pool) => pool.organizations.map((id) => [id, pool] as const)));
    this.byCategory = new Map(pools.flatMap((pool) => (pool.category ? [[pool.category, pool] as const] : [])));
  }

  /**
   * The next address in turn; undefined: the system's choice; `none`: the receiver refuses all that there are.
   * @param key the group of destinations
   * @param families of the receiver's addresses: 4, 6
   */
  next(claim: ClaimedDelivery, key: string, families: ReadonlySet<number>): EgressSource | 'none' | undefined {
    const pool = this.ownPoolOf(claim);
    if (pool === undefined) return undefined;
    const { addresses, name } = pool;
    const turn = this.turns.get(name) ?? 0;
    for (let step = 0; step < addresses.length; step += 1) {
      const place = (turn + step) % addresses.length;
      const found = addresses[place];
      if (!found || !families.has(familyOf(found.address)) || this.isSuspended(found.address, key)) continue;
      this.turns.set(name, place + 1);
      return { ...found, pool: name };
    }
    return 'none';
  }

  /** The receiver refuses the address; the others learn of it by `takeNews`. */
  suspend({ address }: EgressSource, key: string, cause: string): void {
    this.heed({ address, key, forMs: SUSPENDED_MS });
    this.news.push({ address, key, cause: cause.slice(0, MAX_CAUSE), forMs: SUSPENDED_MS });
  }

  /** What has been suspended here since the last time. */
  takeNews(): Suspension[] {
    const news = new Map(this.news.map((one) => [`${one.address} ${one.key}`, one]));
    this.news = [];
    return [...news.values()];
  }

  /** It could not be told. */
  keepNews(news: readonly Suspension[]): void {
    this.news.unshift(...news);
  }

  /** What any worker has suspended, in the place of all that was known before; its own news hold on. */
  heedAll(suspensions: readonly Pick<Suspension, 'address' | 'key' | 'forMs'>[]): void {
    this.suspendedUntilMs.clear();
    for (const one of [...suspensions, ...this.news]) this.heed(one);
  }

  private heed({ address, key, forMs }: Pick<Suspension, 'address' | 'key' | 'forMs'>): void {
    this.suspendedUntilMs.set(`${address} ${key}`, this.clock.monotonicMs() + forMs);
  }

  private isSuspended(address: string, key: string): boolean {
    return (this.suspendedUntilMs.get(`${address} ${key}`) ?? -Infinity) > this.clock.monotonicMs();
  }

  private ownPoolOf({ organizationId, category }: ClaimedDelivery): EgressPool | undefined {
    return this.byOrganization.get(organizationId) ?? this.byCategory.get(category);
  }
}

export function familyOf(address: string): number {
  return address.includes(':') ? 6 : 4;
}

export { DEFAULT_POOL };
export type { EgressPool };
