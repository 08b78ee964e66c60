import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { ExportParts } from '../export/export-parts.service';

/** Of at most about 1 MiB each. */
const BATCH = 100;

/** Worker role: deletes results whose time is up; the requests stay. */
@Injectable()
export class PrivacyUpkeep implements OnApplicationBootstrap {
  constructor(
    private readonly parts: ExportParts,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'clean-up-exports', everyMs: 5 * MINUTE, run: () => this.cleanUp() });
  }

  /** In batches, so that no statement runs long. Answers how many parts were deleted. */
  async cleanUp(): Promise<number> {
    const now = this.clock.now();
    let total = 0;
    for (;;) {
      const deleted = await this.parts.deleteOld(now, BATCH);
      total += deleted;
      if (deleted < BATCH) return total;
    }
  }
}
