import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../auth/organizations.service';
import { BriefCache } from '../../common/async/promises';
import { Clock, SECOND } from '../../common/clock';
import { DeliveryQueueRepository } from '../../delivery/queue/delivery-queue.repository';
import { HeldDestinations } from '../../delivery/shaping/held-destinations.service';
import { DomainsService } from '../domains/domains.service';
import { type SentAmounts, StatsService } from '../stats/stats.service';

/** Key figures of the installation. */
export interface Overview {
  readonly queue: Readonly<Record<'ready' | 'waiting' | 'claimed' | 'held' | 'oldestReadySeconds', number>>;
  /** Recipients of live mail per minute, averaged over the last five minutes. */
  readonly rates: SentAmounts;
  /** Running worker processes. */
  readonly workers: number;
  readonly organizations: number;
  /** Domains that are slowed or paused. */
  readonly restrictedDomains: number;
  /** Groups of destinations that are paused. */
  readonly pausedDestinations: number;
}

/** The database is read once per this time, however many pages poll. */
const CACHE_MS = 2 * SECOND;

/** Computes the overview, once for all callers within two seconds. */
@Injectable()
export class OverviewService {
  private readonly overview: BriefCache<Overview>;

  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly held: HeldDestinations,
    private readonly stats: StatsService,
    private readonly organizations: OrganizationsService,
    private readonly domains: DomainsService,
    clock: Clock,
  ) {
    this.overview = new BriefCache(() => this.lookUp(), CACHE_MS, clock);
  }

  /** At most a few seconds old. @throws UnavailableError */
  get(): Promise<Overview> {
    return this.overview.get();
  }

  private async lookUp(): Promise<Overview> {
    const { ready, waiting, claimed, held, oldestReadySeconds, workers } = await this.queue.lastMeasure();
    const [rates, organizations, restrictedDomains, heldBack] = await Promise.all([
      this.stats.ratesPerMinute(),
      this.organizations.count(),
      this.domains.countRestricted(),
      this.held.get(),
    ]);
    const oldest = Math.max(0, Math.round(oldestReadySeconds));
    const queue = { ready, waiting, claimed, held, oldestReadySeconds: oldest };
    return { queue, rates, workers, organizations, restrictedDomains, pausedDestinations: heldBack.counts.paused };
  }
}
