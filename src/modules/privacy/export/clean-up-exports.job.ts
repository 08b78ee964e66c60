import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { deleteInBatches } from '../../../common/jobs/delete-in-batches';
import { PrivacyExportPartsRepository } from '../requests/privacy-requests.repository';

/** Of at most about 1 MiB each. */
const BATCH = 100;

/** Deletes results whose retention is over; the requests stay. */
@Injectable()
export class CleanUpExportsJob implements OnApplicationBootstrap {
  constructor(
    private readonly parts: PrivacyExportPartsRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({
      name: 'clean-up-exports',
      everyMs: 5 * MINUTE,
      run: () => this.cleanUp(),
    });
  }

  /** In batches, so that no statement runs long. Returns how many parts were deleted. */
  cleanUp(): Promise<number> {
    const now = this.clock.now();
    return deleteInBatches(BATCH, (limit) => this.parts.deleteOld(now, limit));
  }
}
