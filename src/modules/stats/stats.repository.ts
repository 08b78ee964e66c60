import { Injectable } from '@nestjs/common';
import type { Tenant } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import { ReadDatabase } from '../../database/pool/read-database.service';
import type { Transaction } from '../../database/statements/transaction';
import type { HourlyDelta, Period, SentAmounts } from './stat-delta';
import {
  type CountedHour,
  countEmails,
  type CountRange,
  locateEmails,
  type ProviderSums,
  sumByBoth,
  type Part,
  sumByDomain,
  sumByHour,
  sumByProvider,
  sumPeriod,
  type Sums,
} from './sql/sum-period.sql';
import {
  type DomainOwner,
  type DomainWindow,
  findDomainsAbove,
  type LiveSums,
  type RateLimits,
  type RecipientUsage,
  sumLive,
  sumRecipients,
} from './sql/live-sums.sql';
import {
  HAS_DELTAS,
  appendDeltas,
  foldDeltas,
  removeEmails,
  deleteOldRates,
  recordRates,
  readRates,
} from './sql/write-counters.sql';

export type {
  Part,
  CountedHour,
  CountRange,
  DomainOwner,
  DomainWindow,
  LiveSums,
  ProviderSums,
  RateLimits,
  RecipientUsage,
  Sums,
};

/** Owner of `stats_hourly`, `stats_providers`, `stats_deltas` and `sending_rates`. */
@Injectable()
export class StatsRepository {
  /** An SQL condition: whether any counters are not folded. */
  readonly hasDeltas = HAS_DELTAS;

  /** @param reads the database for reports and lists: the replica, if there is one */
  constructor(
    private readonly database: Database,
    private readonly reads: ReadDatabase,
  ) {}

  append(rows: readonly HourlyDelta[], tx: Transaction): void {
    tx.write(appendDeltas(rows));
  }

  /** Returns the number of folded deltas and their counts of live mail. */
  async fold(limit: number): Promise<{ folded: number; amounts: SentAmounts }> {
    const [row] = await this.database.run(foldDeltas(limit));
    const { folded = 0, accepted = 0, delivered = 0, deferred = 0, bounced = 0 } = row ?? {};
    return { folded, amounts: { accepted, delivered, deferred, bounced } };
  }

  async recordRates(amounts: SentAmounts): Promise<void> {
    await this.database.run(recordRates(amounts));
  }

  /** Averages per minute over the last minutes. */
  async readRates(minutes: number): Promise<SentAmounts> {
    const [row] = await this.database.run(readRates(minutes));
    return row as SentAmounts;
  }

  async deleteOldRates(): Promise<number> {
    const [row] = await this.database.run(deleteOldRates());
    return row?.removed ?? 0;
  }

  /** @param tx reads within that transaction, its own counters included; without it in a statement of its own */
  sumRecipients(ids: readonly string[], month: Date, today: Date, tx?: Transaction): Promise<RecipientUsage[]> {
    return (tx ?? this.database).run(sumRecipients(ids, month, today));
  }

  async removeEmails(organizationIds: readonly string[], period: Period, tx: Transaction): Promise<void> {
    await tx.run(removeEmails(organizationIds, period));
  }

  findAbove(limits: RateLimits, since: Date, after: DomainOwner | undefined, limit: number): Promise<DomainOwner[]> {
    return this.database.run(findDomainsAbove(limits, since, after, limit));
  }

  sumLive(windows: readonly DomainWindow[]): Promise<(LiveSums & { domainId: string })[]> {
    return this.database.run(sumLive(windows));
  }

  /** @param period whole hours, as in the others */
  async sum(scope: Tenant, period: Period): Promise<Sums> {
    const [row] = await this.reads.run(sumPeriod(scope, period));
    return row as Sums;
  }

  sumByDomain(scope: Tenant, period: Period, part: Part): Promise<(Sums & { domainId: string })[]> {
    return this.reads.run(sumByDomain(scope, period, part));
  }

  sumByProvider(scope: Tenant, period: Period): Promise<ProviderSums[]> {
    return this.reads.run(sumByProvider(scope, period));
  }

  sumByHour(scope: Tenant, period: Period): Promise<(Sums & { hour: Date })[]> {
    return this.reads.run(sumByHour(scope, period));
  }

  sumByDomainAndHour(scope: Tenant, period: Period): Promise<(Sums & { domainId: string; hour: Date })[]> {
    return this.database.run(sumByBoth(scope, period));
  }

  /** @throws UnavailableError */
  async countEmails(range: CountRange): Promise<number> {
    const [row] = await this.reads.run(countEmails(range));
    return row?.emails ?? 0;
  }

  /** The hours that hold a page of a list, newest first. @throws UnavailableError */
  locateEmails(range: CountRange, page: { offset: number; limit: number }): Promise<CountedHour[]> {
    return this.reads.run(locateEmails(range, page));
  }
}
