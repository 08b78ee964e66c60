import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../common/clock';
import { deleteInBatches } from '../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import { InboundRepository } from './inbound.repository';

/** What came to the feedback address and was no complaint on our mail: no one reads it. */
const USELESS_RETENTION_MS = DAY;
const BATCH = 500;

/** Deletes old reports, and old mail to the public mailboxes. */
@Injectable()
export class DeleteOldReportsJob implements OnApplicationBootstrap {
  constructor(
    private readonly reports: InboundRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'delete-old-inbound-reports', everyMs: HOUR, run: () => this.deleteOld() });
  }

  /** Returns how many went. */
  async deleteOld(): Promise<number> {
    const now = this.clock.now().getTime();
    const before = new Date(now - this.config.retention.inboundDays * DAY);
    const useless = new Date(now - USELESS_RETENTION_MS);
    const reports = await deleteInBatches(BATCH, (limit) => this.reports.deleteBefore(before, limit));
    const feedback = (limit: number) => this.reports.deleteFeedbackBefore(before, useless, limit);
    return reports + (await deleteInBatches(BATCH, feedback));
  }
}
