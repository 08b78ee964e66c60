import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MINUTE } from '../../../../common/clock';
import { PeriodicJobs } from '../../../../common/jobs/periodic-jobs';
import { WarmUpWatch } from './warm-up-watch.service';

/** Worker role: looks after the warm-ups every minute. */
@Injectable()
export class WarmUpJob implements OnApplicationBootstrap {
  constructor(
    private readonly watch: WarmUpWatch,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'watch-warm-ups', everyMs: MINUTE, run: () => this.watch.run() });
  }
}
