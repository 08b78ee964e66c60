import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { InboundRepository } from './inbound.repository';

/** Return paths are valid for as long; what was not worked off by then would be no news. */
const RETENTION_MS = 30 * DAY;
const BATCH = 500;

/** Deletes old reports. */
@Injectable()
export class InboundUpkeep implements OnApplicationBootstrap {
  constructor(
    private readonly reports: InboundRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'delete-old-inbound-reports', everyMs: HOUR, run: () => this.deleteOld() });
  }

  /** In batches, so that no statement runs long. */
  async deleteOld(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - RETENTION_MS);
    while ((await this.reports.deleteBefore(before, BATCH)) === BATCH);
  }
}
