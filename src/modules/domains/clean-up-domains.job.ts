import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR, MINUTE } from '../../common/clock';
import { deleteInBatches } from '../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { DmarcReportsService, TlsReportsService } from './aggregate-reports/aggregate-reports.service';
import { DkimKeysService } from './dkim/dkim-keys.service';

/** Thirteen months, as emails. */
const KEPT_DAYS = 400;
const BATCH = 5_000;

/** Removes what receivers have reported of domains, on DMARC and on TLS, long ago. */
@Injectable()
export class ClearReportsJob implements OnApplicationBootstrap {
  constructor(
    private readonly dmarc: DmarcReportsService,
    private readonly tls: TlsReportsService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.clear('clear-dmarc-reports', (limit) => this.dmarc.deleteOld(KEPT_DAYS, limit));
    this.clear('clear-tls-reports', (limit) => this.tls.deleteOld(KEPT_DAYS, limit));
  }

  private clear(name: string, remove: (limit: number) => Promise<number>): void {
    this.jobs.startRemoval({ name, everyMs: HOUR, run: () => deleteInBatches(BATCH, remove) });
  }
}

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
