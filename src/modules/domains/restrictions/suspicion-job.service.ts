import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MINUTE } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { SuspicionWatch } from './suspicion-watch.service';

/** Worker role: judges who sends, every minute. Not in local mode: nothing leaves the machine. */
@Injectable()
export class SuspicionJob implements OnApplicationBootstrap {
  constructor(
    private readonly watch: SuspicionWatch,
    private readonly jobs: PeriodicJobs,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.delivery.mode === 'local') return;
    this.jobs.start({ name: 'watch-suspicion', everyMs: MINUTE, run: () => this.watch.run() });
  }
}
