import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MINUTE } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { DkimKeysService } from './dkim/dkim-keys.service';

/** Worker role: takes DKIM keys away whose overlap is over. */
@Injectable()
export class DomainUpkeep implements OnApplicationBootstrap {
  constructor(
    private readonly keys: DkimKeysService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'remove-expired-dkim-keys',
      everyMs: 10 * MINUTE,
      run: () => this.keys.removeExpired(),
    });
  }
}
