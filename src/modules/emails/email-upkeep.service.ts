import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR, MINUTE } from '../../common/clock';
import { deleteInBatches } from '../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import { EmailUpkeepRepository } from './email-upkeep.repository';

const KEY_BATCH = 5_000;
/** Processes need not agree on the day. */
const TEST_USAGE_DAYS = 2;

/** Worker role: forgets expired idempotency keys, and what days gone by have used of the limits of test mode. */
@Injectable()
export class EmailUpkeep implements OnApplicationBootstrap {
  constructor(
    private readonly upkeep: EmailUpkeepRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'expire-idempotency-keys', everyMs: 10 * MINUTE, run: () => this.expireKeys() });
    this.jobs.startRemoval({ name: 'forget-test-usage', everyMs: 6 * HOUR, run: () => this.forgetTestUsage() });
  }

  /** Answers how many went. */
  expireKeys(): Promise<number> {
    const before = this.ago(this.config.retention.idempotencyHours * HOUR);
    return deleteInBatches(KEY_BATCH, (limit) => this.upkeep.deleteKeysBefore(before, limit));
  }

  /** Answers how many went. */
  forgetTestUsage(): Promise<number> {
    return this.upkeep.deleteTestUsageBefore(
      this.ago(TEST_USAGE_DAYS * DAY)
        .toISOString()
        .slice(0, 10),
    );
  }

  private ago(ms: number): Date {
    return new Date(this.clock.now().getTime() - ms);
  }
}
