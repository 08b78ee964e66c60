import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../database/transaction';
import type { DomainWindow, LiveSums } from './sql/sum-live.sql';
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

  /** Folds what has been appended into the hourly rows; for the background job. */
  async fold(): Promise<void> {
    while ((await this.stats.fold(FOLD_BATCH)) === FOLD_BATCH);
  }
}

export type { Counter, StatDelta } from './stat-delta';
