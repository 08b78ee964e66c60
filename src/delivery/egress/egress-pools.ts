import { once } from 'node:events';
import { createServer } from 'node:net';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type Clock, HOUR, MINUTE } from '../../common/clock';
import { ConfigurationError } from '../../config/load-config';
import type { ClaimedDelivery } from '../ports/delivery';
import type { Suspension } from './egress-addresses.repository';
import { DEFAULT_POOL, type EgressAddress, type EgressPool } from './pool-file';

/** Where one mail leaves from. */
export interface EgressSource extends EgressAddress {
  readonly pool: string;
}

/** A block list removes no address within minutes; each further refusal after it renews the suspension. */
const SUSPENDED_MS = HOUR;
/** Without pools the whole destination is paused (`DestinationLimiter`), and tried again after so long. */
const PAUSED_MS = 15 * MINUTE;
const MAX_CAUSE = 500;

/** Where a mail goes. */
export interface EgressTarget {
  /** The group of destinations. */
  readonly key: string;
  /** Families of the receiver's addresses, 4 and 6, the preferred first. */
  readonly families: readonly number[];
}

/**
 * Which address a mail leaves from: from the pool of its organization, else the pool of its category, else the system's choice.
 * The addresses of a pool take turns. An address that a receiver refuses for its reputation is not used there for an hour, by
 * any worker; other receivers, addresses and tenants are not affected. The system's choice counts as one more address, unless
 * it is the only one: then the receiver is paused.
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
   * @param without addresses that are out of the question
   */
  next(
    claim: ClaimedDelivery,
    { key, families }: EgressTarget,
    without: ReadonlySet<string> = new Set(),
  ): EgressSource | 'none' | undefined {
    const pool = this.ownPoolOf(claim);
    if (pool === undefined) return this.pools.length > 0 && this.isSuspended(DEFAULT_POOL, key) ? 'none' : undefined;
    const { addresses, name } = pool;
    const turn = this.turns.get(name) ?? 0;
    const inTurn = addresses.map((_one, step) => (turn + step) % addresses.length);
    for (const place of families.flatMap((family) => inTurn.filter((one) => isOf(addresses[one], family)))) {
      const found = addresses[place];
      if (!found || without.has(found.address) || this.isSuspended(found.address, key)) continue;
      this.turns.set(name, place + 1);
      return { address: found.address, ehlo: found.ehlo, pool: name };
    }
    return 'none';
  }

  /** The receiver refuses the address; other workers read it by `drainChanges`. @param source undefined: the system's choice */
  suspend(source: EgressSource | undefined, key: string, cause: string): void {
    const address = source?.address ?? DEFAULT_POOL;
    const forMs = this.pools.length > 0 ? SUSPENDED_MS : PAUSED_MS;
    this.apply({ address, key, forMs });
    this.news.push({ address, key, cause: cause.slice(0, MAX_CAUSE), forMs });
  }

  /** What has been suspended here since the last time. */
  drainChanges(): Suspension[] {
    const news = new Map(this.news.map((one) => [`${one.address} ${one.key}`, one]));
    this.news = [];
    return [...news.values()];
  }

  /** The report failed. */
  restoreChanges(news: readonly Suspension[]): void {
    this.news.unshift(...news);
  }

  /** Replaces the suspensions by those of all workers; news of this worker stay. */
  applyAll(suspensions: readonly Pick<Suspension, 'address' | 'key' | 'forMs'>[]): void {
    this.suspendedUntilMs.clear();
    for (const one of [...suspensions, ...this.news]) this.apply(one);
  }

  private apply({ address, key, forMs }: Pick<Suspension, 'address' | 'key' | 'forMs'>): void {
    this.suspendedUntilMs.set(`${address} ${key}`, this.clock.monotonicMs() + forMs);
  }

  private isSuspended(address: string, key: string): boolean {
    return (this.suspendedUntilMs.get(`${address} ${key}`) ?? -Infinity) > this.clock.monotonicMs();
  }

  private ownPoolOf({ organizationId, category }: ClaimedDelivery): EgressPool | undefined {
    return this.byOrganization.get(organizationId) ?? this.byCategory.get(category);
  }
}

function isOf(address: EgressAddress | undefined, family: number): boolean {
  return address !== undefined && familyOf(address.address) === family;
}

/** 4 or 6. */
export function familyOf(address: string): number {
  return address.includes(':') ? 6 : 4;
}

/** Checks at a worker's start that every address of the pools is one of this machine. */
@Injectable()
export class EgressAddressesCheck implements OnModuleInit {
  constructor(private readonly egress: EgressPools) {}

  /** @throws ConfigurationError that names those that cannot be bound */
  async onModuleInit(): Promise<void> {
    const addresses = this.egress.pools.flatMap((pool) => pool.addresses.map(({ address }) => ({ address, pool })));
    const problems = await Promise.all(
      addresses.map(async ({ address, pool }) => {
        const problem = await whyNotBound(address);
        return problem && `EGRESS_POOLS: the address ${address} of pool "${pool.name}" cannot be used: ${problem}`;
      }),
    );
    const found = problems.filter((problem) => problem !== undefined);
    if (found.length > 0) throw new ConfigurationError(found);
  }
}

/** Undefined when it can be. */
async function whyNotBound(address: string): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host: address, port: 0 });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  } finally {
    server.close();
  }
}
