import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../database/transaction';
import type { Period, StatsScope } from './period';
import type { DomainOwner, RateLimits } from './sql/find-domains-above.sql';
import type { DomainWindow, LiveSums } from './sql/sum-live.sql';
import type { Sums } from './sql/sum-period.sql';
import type { StatDelta } from './stat-delta';
import { StatsRepository } from './stats.repository';
import { sumDeltas } from './sum-deltas';

const FOLD_BATCH = 5_000;

/** Counts what happens, by the UTC hour in which it happened. */
@Injectable()
export class StatsService {
  constructor(private readonly stats: StatsRepository) {}

  /** Counts within the caller's transaction, so that a counter never differs from the events. */
  record(deltas: readonly StatDelta[], tx: Transaction): void {
    if (deltas.length > 0) this.stats.append(sumDeltas(deltas), tx);
  }

  /**
   * The counters of domains' live mail, by domain id; one without mail is left out.
   * @param windows holds each domain once
   */
  async sumLive(windows: readonly DomainWindow[]): Promise<Map<string, LiveSums>> {
    if (windows.length === 0) return new Map();
    return new Map((await this.stats.sumLive(windows)).map(({ domainId, ...sums }) => [domainId, sums]));
  }

  /**
   * Domains of every organization whose live mail is above a limit, in key order after the given one; one look, however
   * many have sent.
   */
  findAbove(limits: RateLimits, since: Date, after: DomainOwner | undefined, limit: number): Promise<DomainOwner[]> {
    return this.stats.findAbove(limits, since, after, limit);
  }

  /** What an organization's mail has counted, by domain and hour, zeros left out. @param period whole hours */
  readHours(owner: Omit<StatsScope, 'domainId'>, period: Period): Promise<(Sums & { domainId: string; hour: Date })[]> {
    return this.stats.sumByDomainAndHour({ ...owner, domainId: undefined }, period);
  }

  /** Emails of a period are gone for good: lists count them no more. Within the transaction that removes them. */
  forgetEmails(organizationIds: readonly string[], period: Period, tx: Transaction): Promise<void> {
    return this.stats.forgetEmails(organizationIds, period, tx);
  }

  /** Folds what has been appended into the hourly rows; for the background job. */
  async fold(): Promise<void> {
    while ((await this.stats.fold(FOLD_BATCH)) === FOLD_BATCH);
  }
}

export { type Counter, COUNTERS, type StatDelta } from './stat-delta';
export type { DomainOwner } from './sql/find-domains-above.sql';
export type { Period } from './period';
export type { Sums } from './sql/sum-period.sql';
