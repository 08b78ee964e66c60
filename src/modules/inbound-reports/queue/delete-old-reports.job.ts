import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../../common/clock';
import { deleteInBatches, PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { InboundReportsRepository } from './inbound-reports.repository';

/** Mail to the feedback address that is no complaint on our mail: it is never read. */
const USELESS_RETENTION_MS = DAY;
const DELETE_BATCH = 500;

/** Deletes old reports, and old mail to the public mailboxes. */
@Injectable()
export class DeleteOldReportsJob implements OnApplicationBootstrap {
  constructor(
    private readonly reports: InboundReportsRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'delete-old-inbound-reports', everyMs: HOUR, run: () => this.deleteOld() });
  }

  /** Returns how many were deleted. */
  async deleteOld(): Promise<number> {
    const now = this.clock.now().getTime();
    const before = new Date(now - this.config.retention.inboundDays * DAY);
    const useless = new Date(now - USELESS_RETENTION_MS);
    const reports = await deleteInBatches(DELETE_BATCH, (limit) => this.reports.deleteBefore(before, limit));
    const feedback = (limit: number) => this.reports.deleteFeedbackBefore(before, useless, limit);
    return reports + (await deleteInBatches(DELETE_BATCH, feedback));
  }
}
