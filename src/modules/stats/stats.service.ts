import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../common/clock';
import type { Tenant } from '../../common/tenant';
import type { Transaction } from '../../database/statements/transaction';
import { EmailCounts } from './email-counts';
import { type Period, type SentAmounts, type StatDelta, sumDeltas } from './stat-delta';
import { type Reputation, REPUTATION_DAYS, reputationOf } from './reputation';
import {
  type CountedHour,
  type CountRange,
  type DomainOwner,
  type DomainWindow,
  type LiveSums,
  type RateLimits,
  type RecipientUsage,
  StatsRepository,
  type Sums,
} from './stats.repository';

const FOLD_BATCH = 5_000;
/** The window of the overview's rates. */
const RATE_MINUTES = 5;
const NO_MAIL = { accepted: 0, delivered: 0, bounced: 0, complaints: 0 };

/** Counts the results of mail by the UTC hour in which they happened. */
@Injectable()
export class StatsService {
  private readonly emailCounts: EmailCounts;

  constructor(
    private readonly stats: StatsRepository,
    private readonly clock: Clock,
  ) {
    this.emailCounts = new EmailCounts(stats, clock);
  }

  /** Counts within the caller's transaction, so that a counter never differs from the events. */
  record(deltas: readonly StatDelta[], tx: Transaction): void {
    if (deltas.length > 0) this.stats.append(sumDeltas(deltas), tx);
  }

  /**
   * The counters of domains' live mail, by domain id; domains without mail are left out.
   * @param windows holds each domain once
   */
  async sumLive(windows: readonly DomainWindow[]): Promise<Map<string, LiveSums>> {
    if (windows.length === 0) return new Map();
    return new Map((await this.stats.sumLive(windows)).map(({ domainId, ...sums }) => [domainId, sums]));
  }

  /**
   * Domains of all organizations whose live mail is above a limit, in key order after the given one; in one statement.
   */
  findAbove(limits: RateLimits, since: Date, after: DomainOwner | undefined, limit: number): Promise<DomainOwner[]> {
    return this.stats.findAbove(limits, since, after, limit);
  }

  /** The reputation of each domain, from its live mail of the last 30 days, by domain id. */
  async reputationsOf(owners: readonly DomainOwner[]): Promise<Map<string, Reputation>> {
    const since = new Date(this.clock.now().getTime() - REPUTATION_DAYS * DAY);
    const sums = await this.sumLive(owners.map((owner) => ({ ...owner, since })));
    return new Map(owners.map(({ domainId }) => [domainId, reputationOf(sums.get(domainId) ?? NO_MAIL)]));
  }

  /** An organization's counters by domain and hour, zeros left out. @param period whole hours */
  readHours(owner: Omit<Tenant, 'domainId'>, period: Period): Promise<(Sums & { domainId: string; hour: Date })[]> {
    return this.stats.sumByDomainAndHour({ ...owner, domainId: undefined }, period);
  }

  /**
   * The number of emails, by the hour of their ids. They are counted in the transaction that accepts them, so the number is exact;
   * lists use it to count and to skip without reading rows.
   * @throws UnavailableError
   */
  countEmails(range: CountRange): Promise<number> {
    return this.emailCounts.count(range);
  }

  /** The hours that hold `limit` emails after the newest `offset` ones of the range, newest first. @throws UnavailableError */
  locateEmails(range: CountRange, page: { offset: number; limit: number }): Promise<CountedHour[]> {
    return this.emailCounts.locate(range, page);
  }

  /** Removes a period's emails from the counts of lists, within the transaction that deletes them. */
  removeEmails(organizationIds: readonly string[], period: Period, tx: Transaction): Promise<void> {
    this.emailCounts.clearCache();
    return this.stats.removeEmails(organizationIds, period, tx);
  }

  /** An SQL condition: whether `fold` would find any counters. */
  get hasDeltas(): string {
    return this.stats.hasDeltas;
  }

  /** Folds appended counters into the hourly rows; for the background job. */
  async fold(): Promise<void> {
    for (let left = FOLD_BATCH; left === FOLD_BATCH;) {
      const { folded, amounts } = await this.stats.fold(FOLD_BATCH);
      if (Object.values(amounts).some((amount) => amount > 0)) await this.stats.recordRates(amounts);
      left = folded;
    }
  }

  /** Recipients of all live mail per minute, averaged over the last five minutes. */
  ratesPerMinute(): Promise<SentAmounts> {
    return this.stats.readRates(RATE_MINUTES);
  }

  /** Deletes rates that are no longer read; returns their number. */
  deleteOldRates(): Promise<number> {
    return this.stats.deleteOldRates();
  }

  /** Recipients of organizations' live mail on this UTC day and in this UTC month. @param tx as in the repository */
  async usageOf(organizationIds: readonly string[], tx?: Transaction): Promise<ReadonlyMap<string, RecipientUsage>> {
    const now = this.clock.now();
    const today = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()));
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
    const usages = await this.stats.sumRecipients(organizationIds, month, today, tx);
    return new Map(usages.map((usage) => [usage.organizationId, usage]));
  }
}

export { type Counter, COUNTERS, isCountedByProvider, type StatDelta } from './stat-delta';
export type { CountedHour, CountRange, DomainOwner, Period, RecipientUsage, SentAmounts, Sums };
