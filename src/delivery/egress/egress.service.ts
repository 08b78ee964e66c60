import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { newId } from '../../common/ids';
import { DestinationsRepository } from '../shaping/destinations.repository';
import {
  type AddressProgress,
  EgressAddressesRepository,
  type HeldSuspension,
  type TodaysVolume,
} from './egress-addresses.repository';
import { EgressPools } from './egress-pools';
import { DEFAULT_POOL } from './pool-file';
import { WarmUpVolumes } from './warm-up-volumes';

/** A pool as operators see it. */
export interface ShownPool {
  readonly pool: string;
  readonly addresses: readonly ShownAddress[];
  readonly organizations: readonly string[];
  readonly category?: string;
}

export interface ShownAddress {
  readonly address: string;
  readonly ehlo: string;
  /** `suspended`: at least one receiver refuses it. `warming`: it is new, and has a daily volume. */
  readonly state: 'active' | 'suspended' | 'warming';
  readonly suspensions: readonly Pick<HeldSuspension, 'key' | 'cause' | 'until'>[];
  /** Absent once it is warm. */
  readonly warmUp?: ShownWarmUp;
}

export interface ShownWarmUp {
  /** Days with mail so far, today among them; 0: it has not sent yet. */
  readonly day: number;
  readonly days: number;
  readonly startedAt: Date;
  /** What it may send to each provider today. */
  readonly dailyVolume: number;
  /** The busiest today. */
  readonly providers: readonly { readonly provider: string; readonly sent: number }[];
}

type Also = (tx: Transaction) => Promise<void>;

/** The state of all addresses. */
interface Known {
  readonly held: readonly HeldSuspension[];
  readonly progress: readonly AddressProgress[];
  readonly volumes: readonly TodaysVolume[];
}

/** Tells workers, who check every two seconds, to drop a pause of their own. */
const RESUMED_FOR_MS = 60_000;

/** The addresses that mail leaves from: what receivers hold against them, and how far they are with their warm-up. */
@Injectable()
export class EgressService {
  constructor(
    private readonly egress: EgressPools,
    private readonly addresses: EgressAddressesRepository,
    private readonly destinations: DestinationsRepository,
    private readonly volumes: WarmUpVolumes,
    private readonly database: Database,
    private readonly config: AppConfig,
  ) {}

  /** In the order of the file; the system's choice, as one address of that name, is the last. */
  async list(): Promise<ShownPool[]> {
    const [held, progress, volumes] = await Promise.all([
      this.addresses.listSuspensions(),
      this.addresses.listAddresses(),
      this.addresses.listTodaysVolumes(),
    ]);
    const known = { held, progress, volumes };
    const pools = this.egress.pools.map(({ name, addresses, organizations, category }) => ({
      pool: name,
      addresses: addresses.map((address) => this.describe(address, known)),
      organizations,
      ...(category !== undefined && { category }),
    }));
    const system = { address: DEFAULT_POOL, ehlo: this.config.delivery.mailHost };
    return [...pools, { pool: DEFAULT_POOL, addresses: [this.describe(system, known)], organizations: [] }];
  }

  /** @throws NotFoundError for an address of no pool */
  async get(address: string): Promise<ShownAddress> {
    const shown = (await this.list()).flatMap(({ addresses }) => addresses).find((one) => one.address === address);
    if (!shown) throw new NotFoundError('Address');
    return shown;
  }

  /**
   * Ends the warm-up of an address, or restarts it with day 1; workers apply it within 5 s.
   * @param also in the same transaction
   * @throws NotFoundError for an address of no pool
   */
  async changeWarmUp(address: string, isWarm: boolean, also: Also): Promise<ShownAddress> {
    const isKnown = this.egress.pools.some(({ addresses }) => addresses.some((one) => one.address === address));
    if (!isKnown) throw new NotFoundError('Address');
    await this.database.transaction(async (tx) => {
      await this.addresses.changeWarmUp(address, isWarm, tx);
      await also(tx);
    });
    return this.get(address);
  }

  /**
   * Mail leaves from the address again, although the receiver refused it; workers apply it within 5 s.
   * @param key the receiver, as the group of destinations; undefined: all that refuse the address
   * @param also in the same transaction, with the receivers
   * @throws NotFoundError when it is not suspended there
   */
  async release(
    address: string,
    key: string | undefined,
    also: (keys: readonly string[], tx: Transaction) => Promise<void>,
  ): Promise<string[]> {
    return this.database.transaction(async (tx) => {
      const keys = await this.addresses.endSuspensions(address, key?.toLowerCase(), tx);
      if (keys.length === 0) throw new NotFoundError('Suspension');
      if (address === DEFAULT_POOL) await this.resume(keys, tx);
      await also(keys, tx);
      return keys;
    });
  }

  /** Where there is no other address, what is refused for the system's choice pauses the receiver as such. */
  private resume(keys: readonly string[], tx: Transaction): Promise<void> {
    const rule = { source: 'operator', effect: 'resumed', value: null, until: null, forMs: RESUMED_FOR_MS } as const;
    return this.destinations.writeRules(
      keys.map((key) => ({ ...rule, id: newId(), key, cause: 'egress released' })),
      tx,
    );
  }

  private describe({ address, ehlo }: { address: string; ehlo: string }, known: Known): ShownAddress {
    const suspensions = known.held
      .filter((one) => one.address === address)
      .map(({ key, cause, until }) => ({ key, cause, until }));
    const warmUp = this.warmUpOf(address, known);
    const state = suspensions.length > 0 ? 'suspended' : warmUp ? 'warming' : 'active';
    return { address, ehlo, state, suspensions, ...(warmUp && { warmUp }) };
  }

  private warmUpOf(address: string, { progress, volumes }: Known): ShownWarmUp | undefined {
    const { schedule } = this.volumes;
    const found = progress.find((one) => one.address === address && !one.isWarm);
    // The day begins with the first mail.
    const today = found && Math.max(1, found.isToday ? found.day : found.day + 1);
    const dailyVolume = today === undefined ? undefined : schedule[today - 1];
    if (!found || dailyVolume === undefined) return undefined;
    const own = volumes.filter((one) => one.address === address);
    const providers = own.map(({ provider, taken }) => ({ provider, sent: taken }));
    return { day: found.day, days: schedule.length, startedAt: found.startedAt, dailyVolume, providers };
  }
}
