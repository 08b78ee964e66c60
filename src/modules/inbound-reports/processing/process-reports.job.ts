import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { reasonOf } from '../../../common/errors/app-error';
import { OrganizationRing } from '../../../common/jobs/organization-ring';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import type { ClaimedReport } from '../queue/inbound-report.entity';
import { InboundReportsRepository } from '../queue/inbound-reports.repository';
import { ReportExaminer } from './report-examiner.service';
import { ReportSettlement } from './report-settlement.service';

/** Reports that are claimed at a time, of up to 2 MiB each. */
const CLAIM_BATCH = 10;
/** Then other jobs, and the end of the process, have their turn. */
const MAX_BATCHES = 50;
/** A report whose worker has died is taken up again after it. */
const CLAIM_MS = 2 * MINUTE;

/**
 * Processes stored reports, in turn among their organizations. A report is open → claimed → processed; a claim that ends
 * without a result makes it open again, and the sixth one ends it as `abandoned`. Its result is recorded in the transaction
 * that ends it, so it counts once, whatever workers crash.
 */
@Injectable()
export class ProcessReportsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(ProcessReportsJob.name);
  private readonly turns = new OrganizationRing();

  constructor(
    private readonly reports: InboundReportsRepository,
    private readonly examiner: ReportExaminer,
    private readonly settlement: ReportSettlement,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'process-inbound-reports',
      everyMs: SECOND,
      hasWork: this.reports.hasOpen(CLAIM_MS / SECOND),
      run: () => this.processOpen(),
    });
  }

  /** Everything that is open now, up to a bound. @throws UnavailableError */
  async processOpen(): Promise<void> {
    await this.processBatches((now, until) =>
      this.turns.next((after) => this.reports.claimReports(now, until, CLAIM_BATCH, after)),
    );
    await this.processBatches((now, until) => this.reports.claimFeedback(now, until, CLAIM_BATCH));
  }

  private async processBatches(claim: (now: Date, until: Date) => Promise<ClaimedReport[]>): Promise<void> {
    for (let batch = 0; batch < MAX_BATCHES && !this.jobs.ending.aborted; batch += 1) {
      const now = this.clock.now();
      const claimed = await claim(now, new Date(now.getTime() + CLAIM_MS));
      if (claimed.length === 0) return;
      for (const report of claimed) {
        await this.processOne(report);
        // Parsing is plain computation.
        await nextTurn();
      }
    }
  }

  /** One that fails waits for the end of its claim; the others go on. */
  private async processOne(report: ClaimedReport): Promise<void> {
    try {
      await this.settlement.settle(report, await this.examiner.examine(report));
    } catch (error) {
      this.logger.warn(`Report ${report.id} could not be processed: ${reasonOf(error)}`);
    }
  }
}
