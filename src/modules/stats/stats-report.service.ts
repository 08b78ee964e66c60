import { Injectable } from '@nestjs/common';
import { DomainDirectory } from '../../auth/keys/domain-directory';
import { Clock, DAY, HOUR } from '../../common/clock';
import { NotFoundError } from '../../common/errors/app-error';
import { firstIdAt } from '../../common/ids';
import type { Tenant } from '../../common/tenant';
import { DeliveryQueueRepository } from '../../delivery/queue/delivery-queue.repository';
import { COUNTERS, hoursOf, type Period, wholeHours } from './stat-delta';
import { type Reputation, REPUTATION_DAYS, reputationOf } from './reputation';
import { type Part, type ProviderSums, StatsRepository, type Sums } from './stats.repository';

/** Open recipients that one report counts at most; that takes a tenth of a second. */
const MAX_OPEN = 100_000;

/** One domain of a tenant, or all of them: undefined. */
type Scope = Tenant & { readonly domainId: string | undefined };

export type Totals = Sums & { readonly queued: number; readonly sending: number };

/**
 * Reports on the results of mail, counted by the UTC hour in which they happened. A period includes the hours that it touches. A key bound to
 * a domain sees only that one.
 */
@Injectable()
export class StatsReportService {
  constructor(
    private readonly stats: StatsRepository,
    private readonly queue: DeliveryQueueRepository,
    private readonly domains: DomainDirectory,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError for a domain that is not the tenant's */
  async totals(tenant: Tenant, period: Period, domainId?: string): Promise<Totals> {
    const scope = await this.scopeOf(tenant, domainId);
    const hours = wholeHours(period);
    const ids = { fromId: firstIdAt(hours.from), toId: firstIdAt(hours.to) };
    const sums = await this.stats.sum(scope, hours);
    return { ...sums, ...(await this.queue.countOpen({ ...scope, ...ids }, MAX_OPEN, this.clock.now())) };
  }

  /** The domains with mail in the period, the largest first. A removed one whose name is no longer known shows its id. */
  async byDomain(tenant: Tenant, period: Period, part: Part): Promise<(Sums & { domain: string })[]> {
    const { organizationId } = tenant;
    const rows = await this.stats.sumByDomain(await this.scopeOf(tenant), wholeHours(period), part);
    const names = await this.domains.namesOf(
      organizationId,
      rows.map(({ domainId }) => domainId),
    );
    return rows
      .map(({ domainId, ...sums }) => ({ ...sums, domain: names.get(domainId) ?? domainId }))
      .sort((one, other) => other.accepted - one.accepted || (one.domain < other.domain ? -1 : 1));
  }

  /** The groups of receivers with mail in the period, the largest first. @throws NotFoundError */
  async byProvider(tenant: Tenant, period: Period, domainId?: string): Promise<ProviderSums[]> {
    const rows = await this.stats.sumByProvider(await this.scopeOf(tenant, domainId), wholeHours(period));
    const volume = ({ accepted, bounced, deferred }: ProviderSums) => accepted + bounced + deferred;
    return rows.sort((one, other) => volume(other) - volume(one) || (one.provider < other.provider ? -1 : 1));
  }

  /** Every hour of the period, oldest first. @throws NotFoundError */
  async byHour(tenant: Tenant, period: Period, domainId?: string): Promise<(Sums & { hour: Date })[]> {
    const hours = wholeHours(period);
    const rows = await this.stats.sumByHour(await this.scopeOf(tenant, domainId), hours);
    const known = new Map(rows.map((row) => [row.hour.getTime(), row]));
    return hoursOf(hours).map((hour) => known.get(hour.getTime()) ?? { ...ZERO, hour });
  }

  /** The reputation over the last 30 days. @param wanted a domain; undefined: all. @throws NotFoundError */
  async reputation(tenant: Tenant, wanted?: string): Promise<Reputation & { domainId: string | undefined }> {
    const scope = await this.scopeOf(tenant, wanted);
    const now = this.clock.now().getTime();
    // Hours that began within the window, as for the domains' own scores.
    const window = { from: new Date(now - REPUTATION_DAYS * DAY), to: new Date(now + HOUR) };
    const sums = await this.stats.sum(scope, window);
    return { ...reputationOf({ ...sums, bounced: sums.bounced - sums.excused }), domainId: scope.domainId };
  }

  private async scopeOf({ organizationId, mode, domainId: bound }: Tenant, wanted?: string): Promise<Scope> {
    const domainId = wanted?.toLowerCase() ?? bound;
    if (domainId !== bound) {
      const names = await this.domains.namesOf(organizationId, domainId === undefined ? [] : [domainId]);
      if (bound !== undefined || names.size === 0) throw new NotFoundError('Domain');
    }
    return { organizationId, mode, domainId };
  }
}

export type { ProviderSums };

const ZERO = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as Sums;
