import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, HOUR } from '../common/clock';
import { deleteInBatches, PeriodicJobs } from '../common/jobs/periodic-jobs';
import { AppConfig } from '../config/config';
import { AuditRepository } from './audit.repository';

const BATCH = 5_000;

/** Deletes audit entries whose retention period is over; until then they stay unchanged. */
@Injectable()
export class AuditRetentionJob implements OnApplicationBootstrap {
  constructor(
    private readonly entries: AuditRepository,
    private readonly jobs: PeriodicJobs,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'remove-old-audit-entries', everyMs: 6 * HOUR, run: () => this.removeOld() });
  }

  /** Returns the number of removed entries. */
  removeOld(): Promise<number> {
    const before = monthsBefore(this.clock.now(), this.config.retention.auditMonths);
    return deleteInBatches(BATCH, (limit) => this.entries.deleteBefore(before, limit));
  }
}

/** The same day and time of an earlier month, or that month's last day when it has no such day. */
function monthsBefore(time: Date, months: number): Date {
  const earlier = new Date(time);
  earlier.setUTCMonth(earlier.getUTCMonth() - months);
  if (earlier.getUTCDate() !== time.getUTCDate()) earlier.setUTCDate(0);
  return earlier;
}
