import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import type { Period, StatsScope } from './period';
import { appendDeltas } from './sql/append-deltas.sql';
import { type DomainOwner, findDomainsAbove, type RateLimits } from './sql/find-domains-above.sql';
import { foldDeltas } from './sql/fold-deltas.sql';
import { forgetEmails } from './sql/forget-emails.sql';
import { type DomainWindow, type LiveSums, sumLive } from './sql/sum-live.sql';
import { sumByBoth, sumByDomain, sumByHour, sumPeriod, type Sums } from './sql/sum-period.sql';
import type { HourlyDelta } from './sum-deltas';

@Injectable()
export class StatsRepository {
  constructor(private readonly database: Database) {}

  append(rows: readonly HourlyDelta[], tx: Transaction): void {
    tx.write(appendDeltas(rows));
  }

  /** Answers how many deltas it folded. */
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
  async sum(scope: StatsScope, period: Period): Promise<Sums> {
    const [row] = await this.database.run(sumPeriod(scope, period));
    return row as Sums;
  }

  sumByDomain(scope: StatsScope, period: Period): Promise<(Sums & { domainId: string })[]> {
    return this.database.run(sumByDomain(scope, period));
  }

  sumByHour(scope: StatsScope, period: Period): Promise<(Sums & { hour: Date })[]> {
    return this.database.run(sumByHour(scope, period));
  }

  sumByDomainAndHour(scope: StatsScope, period: Period): Promise<(Sums & { domainId: string; hour: Date })[]> {
    return this.database.run(sumByBoth(scope, period));
  }
}
