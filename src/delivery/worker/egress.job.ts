import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR, SECOND } from '../../common/clock';
import { reasonOf } from '../../common/errors/app-error';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Metrics } from '../../common/metrics/metrics';
import type { Transaction } from '../../database/statements/transaction';
import { EgressPools } from '../egress/egress-pools';
import { DEFAULT_POOL } from '../egress/pool-file';
import { WarmUpVolumes } from '../egress/warm-up-volumes';
import { OperatorLog } from '../ports/sources';
import {
  type AddressProgress,
  EgressAddressesRepository,
  type HeldSuspension,
  type WrittenSuspension,
} from '../egress/egress-addresses.repository';
import { WorkerSession } from './session/worker-session';

/** All workers apply a finding within two of these. */
const SYNC_EVERY_MS = 2 * SECOND;

/** Shares with the other workers which receivers refuse which of our addresses, and notifies the operator. */
@Injectable()
export class EgressSyncJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(EgressSyncJob.name);
  private held: readonly HeldSuspension[] = [];

  constructor(
    private readonly egress: EgressPools,
    private readonly addresses: EgressAddressesRepository,
    private readonly jobs: PeriodicJobs,
    private readonly operators: OperatorLog,
    session: WorkerSession,
    metrics: Metrics,
  ) {
    session.onBegin(() => this.sync());
    const help =
      'Groups of destinations that refuse an address of ours for its reputation; default: the system’s choice';
    metrics.gauge({ name: 'egress_suspensions', help, labels: ['address'] }, () => this.countByAddress());
  }

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'share-egress', everyMs: SYNC_EVERY_MS, run: () => this.sync() });
    const remove = () => this.addresses.removeSuspensions();
    this.jobs.startRemoval({ name: 'forget-egress-suspensions', everyMs: 6 * HOUR, run: remove });
  }

  /** Never rejects. */
  async sync(): Promise<void> {
    const changes = this.egress.drainChanges();
    try {
      const begun = await this.addresses.writeSuspensions(changes, (some, tx) => this.recordSuspensions(some, tx));
      // Once for all workers: each further refusal only lengthens it.
      for (const { address, key: destination, cause } of begun) {
        this.logger.warn({
          msg: 'A receiver refuses an address of ours; it is left out there',
          address,
          destination,
          cause,
        });
      }
      this.held = await this.addresses.listSuspensions();
      this.egress.applyAll(this.held);
    } catch (error) {
      this.egress.restoreChanges(changes);
      this.logger.warn(`Which addresses are refused is not shared: ${reasonOf(error)}`);
    }
  }

  private recordSuspensions(begun: readonly WrittenSuspension[], tx: Transaction): Promise<void> {
    // The receiver's text may name a person: `egress list` shows it.
    const entries = begun.map(({ address, key, until }) => ({
      ...{ action: 'egress.suspended', targetType: 'egress_address', targetId: address },
      data: { destination: key, until },
    }));
    return this.operators.record(entries, tx);
  }

  private countByAddress(): Record<string, number> {
    const addresses = this.egress.pools.flatMap((pool) => pool.addresses.map(({ address }) => address));
    return Object.fromEntries(
      [...addresses, DEFAULT_POOL].map((address) => [
        address,
        this.held.filter((one) => one.address === address).length,
      ]),
    );
  }
}

/** What an operator changes, all workers apply within two of these. */
const VOLUMES_EVERY_MS = 2 * SECOND;

/** Stores the addresses of the pools, reads the state of their warm-up, and returns unused reservations. */
@Injectable()
export class WarmUpSyncJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(WarmUpSyncJob.name);
  private isRegistered = false;
  private known: readonly AddressProgress[] = [];

  constructor(
    private readonly egress: EgressPools,
    private readonly volumes: WarmUpVolumes,
    private readonly addresses: EgressAddressesRepository,
    private readonly jobs: PeriodicJobs,
    session: WorkerSession,
    metrics: Metrics,
  ) {
    session.onBegin(() => this.sync());
    session.onEnd(() => this.volumes.giveBack('all').catch((error: unknown) => this.warn(error)));
    if (egress.pools.length === 0) return;
    const help = 'Day of the warm-up that an address of ours is in; absent once it is over';
    metrics.gauge({ name: 'egress_warm_up_day', help, labels: ['address'] }, () => this.dayByAddress());
  }

  onApplicationBootstrap(): void {
    if (this.egress.pools.length > 0) {
      this.jobs.start({ name: 'share-warm-up', everyMs: VOLUMES_EVERY_MS, run: () => this.sync() });
    }
    const remove = () => this.addresses.removeOldVolumes();
    this.jobs.startRemoval({ name: 'forget-warm-up-volumes', everyMs: 6 * HOUR, run: remove });
  }

  /** Never rejects. */
  async sync(): Promise<void> {
    try {
      await this.register();
      if (this.egress.pools.length === 0) return;
      await this.volumes.giveBack('unused');
      this.known = await this.addresses.listAddresses();
      this.volumes.apply(this.known);
    } catch (error) {
      this.warn(error);
    }
  }

  private async register(): Promise<void> {
    if (this.isRegistered) return;
    const isOff = this.volumes.schedule.length === 0;
    const addresses = this.egress.pools.flatMap((pool) => pool.addresses);
    await this.addresses.registerAddresses(
      addresses.map(({ address, warmUp }) => ({ address, isWarm: isOff || warmUp === false })),
    );
    this.isRegistered = true;
  }

  private dayByAddress(): Record<string, number> {
    const own = new Set(this.egress.pools.flatMap((pool) => pool.addresses.map(({ address }) => address)));
    const warming = this.known.filter(({ address, isWarm }) => !isWarm && own.has(address));
    return Object.fromEntries(warming.map(({ address, day }) => [address, day]));
  }

  private warn(error: unknown): void {
    this.logger.warn(`The warm-up of addresses is not shared: ${reasonOf(error)}`);
  }
}
