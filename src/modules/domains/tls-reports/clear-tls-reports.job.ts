import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR } from '../../../common/clock';
import { deleteInBatches } from '../../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { TlsReportsService } from './tls-reports.service';

/** Thirteen months, as emails. */
const KEPT_DAYS = 400;
const BATCH = 5_000;

/** Removes what was reported long ago. */
@Injectable()
export class ClearTlsReportsJob implements OnApplicationBootstrap {
  constructor(
    private readonly reports: TlsReportsService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    const run = () => deleteInBatches(BATCH, (limit) => this.reports.deleteOld(KEPT_DAYS, limit));
    this.jobs.startRemoval({ name: 'clear-tls-reports', everyMs: HOUR, run });
  }
}
