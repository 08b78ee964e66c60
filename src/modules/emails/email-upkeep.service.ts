import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, HOUR, MINUTE } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { IDEMPOTENCY_MS } from './accept/idempotency-ledger.repository';
import { EmailUpkeepRepository } from './email-upkeep.repository';

const MONTHS_AHEAD = 3;
const KEY_BATCH = 5_000;

/** Worker role: makes partitions ahead of time and forgets expired idempotency keys. */
@Injectable()
export class EmailUpkeep implements OnApplicationBootstrap {
  constructor(
    private readonly upkeep: EmailUpkeepRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'create-partitions',
      everyMs: HOUR,
      run: () => this.upkeep.createPartitions(MONTHS_AHEAD),
    });
    this.jobs.start({ name: 'expire-idempotency-keys', everyMs: 10 * MINUTE, run: () => this.expireKeys() });
  }

  /** In batches, so that no statement runs long. */
  async expireKeys(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - IDEMPOTENCY_MS);
    while ((await this.upkeep.deleteKeysBefore(before, KEY_BATCH)) === KEY_BATCH);
  }
}
