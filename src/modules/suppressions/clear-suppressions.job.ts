import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../common/clock';
import { deleteInBatches } from '../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { SOFT_BOUNCE_RULE } from './suppression';
import { SuppressionsRepository } from './suppressions.repository';

const BATCH = 5_000;

/** Clears soft bounces and missing domains that count no more and, after as long a time, suppressions that have expired. */
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

  /** Returns how many went. */
  async run(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - SOFT_BOUNCE_RULE.windowDays * DAY);
    const bounces = (limit: number) => this.suppressions.deleteSoftBouncesBefore(before, limit);
    const missing = (limit: number) => this.suppressions.deleteMissingDomainsBefore(before, limit);
    const expired = (limit: number) => this.suppressions.deleteExpiredBefore(before, limit);
    let deleted = 0;
    for (const remove of [bounces, missing, expired]) deleted += await deleteInBatches(BATCH, remove);
    return deleted;
  }
}
