import { Injectable } from '@nestjs/common';
import { acrossTenants } from '../common/tenant';
import { Database } from '../database/pool/database.service';
import {
  addRecentHit,
  countRecentHits,
  deleteExpiredHits,
  type Hits,
  recordHits,
  type SharedHits,
} from './sql/throttle-hits.sql';

export type { Hits, SharedHits } from './sql/throttle-hits.sql';

/** The counters that all processes share. */
@Injectable()
export class ThrottleHitsRepository {
  constructor(private readonly database: Database) {}

  /** Adds hits and returns the shared totals, in no particular order. */
  record(batch: readonly Hits[]): Promise<SharedHits[]> {
    return acrossTenants(() => this.database.run(recordHits(batch)));
  }

  /** Adds one hit to the current minute of a counter that looks back over some minutes. */
  async addRecent(key: string, minutes: number): Promise<void> {
    await this.database.run(addRecentHit(key, minutes));
  }

  /** Hits of the last minutes, the current one included. */
  async recent(key: string, minutes: number): Promise<number> {
    const [row] = await this.database.run(countRecentHits(key, minutes));
    return row?.hits ?? 0;
  }

  /** @returns the number of deleted counters, which is bounded */
  async deleteExpired(limit: number): Promise<number> {
    const [row] = await this.database.run(deleteExpiredHits(limit));
    return row?.deleted ?? 0;
  }
}
