import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { appendDeltas } from './sql/append-deltas.sql';
import { foldDeltas } from './sql/fold-deltas.sql';
import { type DomainWindow, type LiveSums, sumLive } from './sql/sum-live.sql';
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

  sumLive(windows: readonly DomainWindow[]): Promise<(LiveSums & { domainId: string })[]> {
    return this.database.run(sumLive(windows));
  }
}
