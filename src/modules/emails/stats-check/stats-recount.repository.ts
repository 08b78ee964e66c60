import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import { claimCheck } from './sql/claim-check.sql';
import { finishCheck, readNewestCheck } from './sql/finish-check.sql';
import { recountAccepted } from './sql/recount-accepted.sql';
import { recountEvents } from './sql/recount-events.sql';
import type { RecountedRow, RecountPage } from './stats-counts';

@Injectable()
export class StatsRecountRepository {
  constructor(private readonly database: Database) {}

  recountEvents(page: RecountPage, limit: number): Promise<RecountedRow[]> {
    return this.database.run(recountEvents(page, limit));
  }

  recountAccepted(page: RecountPage, endId: string, limit: number): Promise<RecountedRow[]> {
    return this.database.run(recountAccepted(page, endId, limit));
  }

  /** False when the day is done, or in another process's hands. */
  async claim(day: string, now: Date, abandonedBefore: Date): Promise<boolean> {
    return (await this.database.run(claimCheck(day, now, abandonedBefore))).length > 0;
  }

  async finish(day: string, drift: number, now: Date): Promise<void> {
    await this.database.run(finishCheck(day, drift, now));
  }

  /** Counters that differed on the last day that was checked; undefined before the first. */
  async newestDrift(): Promise<number | undefined> {
    const [row] = await this.database.run(readNewestCheck());
    return row?.drift;
  }
}
