import { Injectable } from '@nestjs/common';
import type { Tenant } from '../../common/tenant';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import type { Period } from './period';
import { countEmails, type CountedHour, type CountRange, locateEmails } from './sql/count-emails.sql';
import {
  type DomainOwner,
  type DomainWindow,
  findDomainsAbove,
  type LiveSums,
  type RateLimits,
  sumLive,
} from './sql/live-sums.sql';
import { sumByBoth, sumByDomain, sumByHour, sumPeriod, type Sums } from './sql/sum-period.sql';
import { appendDeltas, foldDeltas, forgetEmails } from './sql/write-counters.sql';
import type { HourlyDelta } from './stat-delta';

export type { CountedHour, CountRange, DomainOwner, DomainWindow, LiveSums, RateLimits, Sums };

/** Owner of `stats_hourly` and `stats_deltas`. */
@Injectable()
export class StatsRepository {
  constructor(private readonly database: Database) {}

  append(rows: readonly HourlyDelta[], tx: Transaction): void {
    tx.write(appendDeltas(rows));
  }

  /** Returns how many deltas it folded. */
  async fold(limit: number): Promise<number> {
    const [row] = await this.database.run(foldDeltas(limit));
    return row?.folded ?? 0;
  }

  async forgetEmails(organizationIds: readonly string[], period: Period, tx: Transaction): Promise<void> {
    await tx.run(forgetEmails(organizationIds, period));
  }

  findAbove(limits: RateLimits, since: Date, after: DomainOwner | undefined, limit: number): Promise<DomainOwner[]> {
    return this.database.run(findDomainsAbove(limits, since, after, limit));
  }

  sumLive(windows: readonly DomainWindow[]): Promise<(LiveSums & { domainId: string })[]> {
    return this.database.run(sumLive(windows));
  }

  /** @param period whole hours, as in the others */
  async sum(scope: Tenant, period: Period): Promise<Sums> {
    const [row] = await this.database.run(sumPeriod(scope, period));
    return row as Sums;
  }

  sumByDomain(scope: Tenant, period: Period): Promise<(Sums & { domainId: string })[]> {
    return this.database.run(sumByDomain(scope, period));
  }

  sumByHour(scope: Tenant, period: Period): Promise<(Sums & { hour: Date })[]> {
    return this.database.run(sumByHour(scope, period));
  }

  sumByDomainAndHour(scope: Tenant, period: Period): Promise<(Sums & { domainId: string; hour: Date })[]> {
    return this.database.run(sumByBoth(scope, period));
  }

  /** @throws UnavailableError */
  async countEmails(range: CountRange): Promise<number> {
    const [row] = await this.database.run(countEmails(range));
    return row?.emails ?? 0;
  }

  /** The hours in which a page of a list lies, newest first. @throws UnavailableError */
  locateEmails(range: CountRange, page: { offset: number; limit: number }): Promise<CountedHour[]> {
    return this.database.run(locateEmails(range, page));
  }
}
