import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../common/clock';
import { deleteInBatches, PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { ApiKeysRepository } from './api-keys.repository';

const BATCH = 1_000;
const KEPT_DAYS = 30;

/**
 * Deletes the keys of console sessions 30 days after their end. Each sign-in by a link makes one, so that they would grow with the sign-ins;
 * the audit log names them by their ids alone, and lists leave them out once they have ended.
 */
@Injectable()
export class SessionKeysJob implements OnApplicationBootstrap {
  constructor(
    private readonly keys: ApiKeysRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'remove-session-keys', everyMs: 6 * HOUR, run: () => this.removeEnded() });
  }

  /** Returns the number of deleted keys. */
  removeEnded(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - KEPT_DAYS * DAY);
    return deleteInBatches(BATCH, (limit) => this.keys.deleteSessionKeysEndedBefore(before, limit));
  }
}
