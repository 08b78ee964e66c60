import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Metrics } from '../../common/metrics/metrics';
import { EgressPools } from '../egress/egress-pools';
import { WarmUpVolumes } from '../egress/warm-up-volumes';
import { type AddressProgress, DestinationsRepository } from '../shaping/destinations.repository';
import { WorkerSession } from './worker-session';

/** What an operator changes, all workers heed within two of these. */
const EVERY_MS = 2 * SECOND;

/** Makes the addresses of the pools known, hears how far they are with their warm-up, and gives back what is not used of it. */
@Injectable()
export class WarmUpSyncJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(WarmUpSyncJob.name);
  private isRegistered = false;
  private known: readonly AddressProgress[] = [];

  constructor(
    private readonly egress: EgressPools,
    private readonly volumes: WarmUpVolumes,
    private readonly destinations: DestinationsRepository,
    private readonly jobs: PeriodicJobs,
    session: WorkerSession,
    metrics: Metrics,
  ) {
    session.onBegin(() => this.sync());
    session.onEnd(() => this.volumes.giveBack(true).catch((error: unknown) => this.warn(error)));
    if (egress.pools.length === 0) return;
    const help = 'Day of the warm-up that an address of ours is in; absent once it is over';
    metrics.gauge({ name: 'egress_warm_up_day', help, labels: ['address'] }, () => this.dayByAddress());
  }

  onApplicationBootstrap(): void {
    if (this.egress.pools.length > 0) {
      this.jobs.start({ name: 'share-warm-up', everyMs: EVERY_MS, run: () => this.sync() });
    }
    const remove = () => this.destinations.removeOldVolumes();
    this.jobs.startRemoval({ name: 'forget-warm-up-volumes', everyMs: 6 * HOUR, run: remove });
  }

  /** Never rejects. */
  async sync(): Promise<void> {
    try {
      await this.register();
      if (this.egress.pools.length === 0) return;
      await this.volumes.giveBack();
      this.known = await this.destinations.listAddresses();
      this.volumes.heed(this.known);
    } catch (error) {
      this.warn(error);
    }
  }

  private async register(): Promise<void> {
    if (this.isRegistered) return;
    const isOff = this.volumes.schedule.length === 0;
    const addresses = this.egress.pools.flatMap((pool) => pool.addresses);
    await this.destinations.registerAddresses(
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
    this.logger.warn(`The warm-up of addresses is not shared: ${(error as Error).message}`);
  }
}
