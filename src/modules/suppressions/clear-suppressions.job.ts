import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../common/clock';
import { deleteInBatches, PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { SOFT_BOUNCE_RULE } from './suppression';
import { SuppressionsRepository } from './suppressions.repository';

const BATCH = 5_000;
const TABLES = ['soft_bounces', 'missing_domains', 'suppressions'] as const;

/** Deletes soft bounces and missing domains that no longer count, and suppressions that expired equally long ago. */
@Injectable()
export class ClearSuppressionsJob implements OnApplicationBootstrap {
  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'clear-suppressions', everyMs: HOUR, run: () => this.run() });
  }

  /** Returns the number of deleted rows. */
  async run(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - SOFT_BOUNCE_RULE.windowDays * DAY);
    let deleted = 0;
    for (const table of TABLES) {
      deleted += await deleteInBatches(BATCH, (limit) => this.suppressions.deleteExpired(table, before, limit));
    }
    return deleted;
  }
}
