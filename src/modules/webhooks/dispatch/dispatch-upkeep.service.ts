import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { DispatchRepository } from './dispatch.repository';
import { ENDPOINT_DISABLED } from './verdict';

const EVERY_MS = 5 * SECOND;
const BATCH = 1_000;

/** Worker role: frees what dead processes had claimed, and ends what waits for disabled endpoints. */
@Injectable()
export class DispatchUpkeep implements OnApplicationBootstrap {
  private readonly logger = new Logger(DispatchUpkeep.name);

  constructor(
    private readonly dispatch: DispatchRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'free-webhook-claims', everyMs: EVERY_MS, run: () => this.freeLostClaims() });
    this.jobs.start({ name: 'end-disabled-webhooks', everyMs: EVERY_MS, run: () => this.endOfDisabled() });
  }

  /** A batch at a time: a recovery must not be a storm. */
  async freeLostClaims(): Promise<void> {
    const freed = await this.dispatch.freeLostClaims(this.clock.now(), BATCH);
    if (freed > 0) this.logger.warn(`${freed} webhooks of lost workers are sent again`);
  }

  async endOfDisabled(): Promise<void> {
    while ((await this.dispatch.endOfDisabled(ENDPOINT_DISABLED, BATCH)) === BATCH);
  }
}
