import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../../common/clock';
import { deleteInBatches, PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { InboundEmailsRepository } from './inbound-emails.repository';

/** Each may have 25 parts. */
const BATCH = 100;

/** Deletes inbound mail whose time is over. */
@Injectable()
export class DeleteOldInboundEmailsJob implements OnApplicationBootstrap {
  constructor(
    private readonly emails: InboundEmailsRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'delete-old-inbound-emails', everyMs: HOUR, run: () => this.deleteOld() });
  }

  /** Returns how many went. */
  deleteOld(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - this.config.retention.inboundDays * DAY);
    return deleteInBatches(BATCH, (limit) => this.emails.deleteBefore(before, limit));
  }
}
