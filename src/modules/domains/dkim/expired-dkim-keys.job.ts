import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MINUTE } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { DkimKeysService } from './dkim-keys.service';

/** Removes retired DKIM keys once they need not be published any more. */
@Injectable()
export class ExpiredDkimKeysJob implements OnApplicationBootstrap {
  constructor(
    private readonly keys: DkimKeysService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'remove-expired-dkim-keys',
      exclusive: true,
      everyMs: 10 * MINUTE,
      run: () => this.keys.removeExpired(),
    });
  }
}
