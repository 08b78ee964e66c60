import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { ErasureHandler } from './erasure/erasure-handler.service';
import { ExportHandler } from './export/export-handler.service';
import { PrivacyMetrics } from './privacy.metrics';
import {
  LeaseLostError,
  type LeasedRequest,
  type PrivacyRequestHandler,
  PrivacyWork,
} from './requests/privacy-work.service';

const EVERY_MS = 2 * SECOND;
/** Of one run; then other processes have theirs. */
const MAX_TURNS = 20;

/** Works off privacy requests: in each process one of each type at a time, some pages of it, in turn among organizations. */
@Injectable()
export class PrivacyRequestsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(PrivacyRequestsJob.name);

  constructor(
    private readonly exports: ExportHandler,
    private readonly erasures: ErasureHandler,
    private readonly work: PrivacyWork,
    private readonly metrics: PrivacyMetrics,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    for (const handler of [this.exports, this.erasures]) {
      const name = `privacy-requests-${handler.type.replaceAll('_', '-')}`;
      this.jobs.start({ name, everyMs: EVERY_MS, run: () => this.workOff(handler) });
    }
  }

  /** What is open now, up to a bound. @throws UnavailableError */
  async workOff(handler: PrivacyRequestHandler): Promise<void> {
    for (let count = 0; count < MAX_TURNS && !this.jobs.ending.aborted; count += 1) {
      const leased = await this.work.claimNext(handler.type);
      if (!leased) return;
      await this.handle(handler, leased);
    }
  }

  private async handle(handler: PrivacyRequestHandler, leased: LeasedRequest): Promise<void> {
    try {
      await handler.run(leased, this.jobs.ending);
      this.metrics.countRun(handler.type, 'ok');
    } catch (error) {
      if (error instanceof LeaseLostError) return;
      this.metrics.countRun(handler.type, 'failed');
      this.logger.warn(`Privacy request ${leased.id} failed: ${(error as Error).message}`);
      await this.retryLater(leased);
    }
  }

  private async retryLater(leased: LeasedRequest): Promise<void> {
    try {
      await this.work.retryLater(leased);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  }
}
