import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR, MINUTE } from '../../../common/clock';
import { deleteInBatches } from '../../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AcceptRepository } from './accept.repository';

const KEY_BATCH = 5_000;
/** Processes need not agree on the day. */
const TEST_USAGE_DAYS = 2;
const MONTHLY_USAGE_DAYS = 62;

/**
 * Removes what accepting needs no longer: expired idempotency keys, the use of test mode on past days, and
 * how much organizations sent in past months.
 */
@Injectable()
export class AcceptRetentionJob implements OnApplicationBootstrap {
  constructor(
    private readonly accepts: AcceptRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'expire-idempotency-keys', everyMs: 10 * MINUTE, run: () => this.expireKeys() });
    this.jobs.startRemoval({ name: 'forget-test-usage', everyMs: 6 * HOUR, run: () => this.removeTestUsage() });
    this.jobs.startRemoval({ name: 'forget-monthly-usage', everyMs: 6 * HOUR, run: () => this.removeMonthlyUsage() });
  }

  /** Returns the number of deleted keys. */
  expireKeys(): Promise<number> {
    const now = this.clock.now();
    return deleteInBatches(KEY_BATCH, (limit) => this.accepts.deleteExpiredKeys(now, limit));
  }

  /** Returns the number of deleted rows. */
  removeMonthlyUsage(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - MONTHLY_USAGE_DAYS * DAY);
    return this.accepts.deleteMonthlyUsageBefore(before.toISOString().slice(0, 10));
  }

  /** Returns the number of deleted rows. */
  removeTestUsage(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - TEST_USAGE_DAYS * DAY);
    return this.accepts.deleteTestUsageBefore(before.toISOString().slice(0, 10));
  }
}
