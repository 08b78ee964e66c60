import { Injectable } from '@nestjs/common';
import { type OrganizationChange, OrganizationsService } from '../../auth/organizations/organizations.service';
import { BriefCache } from '../../common/async/promises';
import { Clock, SECOND } from '../../common/clock';
import { QueueMeasures } from '../../delivery/queue/queue-measures.service';
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
    private readonly measures: QueueMeasures,
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
    const { ready, waiting, claimed, held, oldestReadySeconds, workers } = await this.measures.last();
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

type Organization = Awaited<ReturnType<OrganizationsService['get']>>;

/** An organization with its number of recipients of live mail. */
export interface UsedOrganization extends Pick<
  Organization,
  'id' | 'name' | 'status' | 'weight' | 'monthlyRecipients' | 'createdAt'
> {
  /** On this UTC day and in this UTC month. */
  readonly usage: { readonly today: number; readonly month: number };
}

/** Organizations for operators: with their usage. */
@Injectable()
export class OperatorOrganizationsService {
  constructor(
    private readonly organizations: OrganizationsService,
    private readonly stats: StatsService,
  ) {}

  /** Newest first, with the number of matches. */
  async page(...args: Parameters<OrganizationsService['page']>): Promise<[UsedOrganization[], number]> {
    const [found, total] = await this.organizations.page(...args);
    return [await this.withUsage(found), total];
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<UsedOrganization> {
    const [organization] = await this.withUsage([await this.organizations.get(id)]);
    return organization as UsedOrganization;
  }

  /** @throws AppError invalid_request */
  async create(name: string, actor: string): Promise<UsedOrganization> {
    return this.get((await this.organizations.create(name, actor)).id);
  }

  /** @throws NotFoundError, AppError invalid_request */
  async update(id: string, change: OrganizationChange, actor: string): Promise<UsedOrganization> {
    await this.organizations.update(id, change, actor);
    return this.get(id);
  }

  private async withUsage(organizations: readonly Organization[]): Promise<UsedOrganization[]> {
    const usages = await this.stats.usageOf(organizations.map(({ id }) => id));
    return organizations.map(({ id, name, status, weight, monthlyRecipients, createdAt }) => {
      const { today = 0, month = 0 } = usages.get(id) ?? {};
      return { id, name, status, weight, monthlyRecipients, createdAt, usage: { today, month } };
    });
  }
}
