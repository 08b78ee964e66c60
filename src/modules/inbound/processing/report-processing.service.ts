import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import type { ClaimedReport, ReportTable } from '../inbound-report';
import { ReportQueueRepository } from '../report-queue.repository';
import { ReportExaminer } from './report-examiner.service';
import { ReportSettlement } from './report-settlement.service';

const TABLES: readonly ReportTable[] = ['inbound_reports', 'feedback_reports'];
/** Of up to 2 MiB each. */
const BATCH = 10;
/** Then other jobs, and the end of the process, have their turn. */
const MAX_BATCHES = 50;
/** A report whose worker has died is taken up again after it. */
const CLAIM_MS = 2 * MINUTE;

/**
 * Worker role: works off stored reports. A report is open → claimed → processed; a claim that ends without a result makes
 * it open again, and the sixth one ends it as `abandoned`. What it comes to is recorded in the transaction that ends it, so
 * it counts once, however many workers there are and wherever they die.
 */
@Injectable()
export class ReportProcessing implements OnApplicationBootstrap {
  private readonly logger = new Logger(ReportProcessing.name);

  constructor(
    private readonly reports: ReportQueueRepository,
    private readonly examiner: ReportExaminer,
    private readonly settlement: ReportSettlement,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'process-inbound-reports', everyMs: SECOND, run: () => this.workOff() });
  }

  /** Everything that is open now, up to a bound. @throws UnavailableError */
  async workOff(): Promise<void> {
    for (const table of TABLES) {
      for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
        if ((await this.workOffBatch(table)) < BATCH) break;
      }
    }
  }

  private async workOffBatch(table: ReportTable): Promise<number> {
    const now = this.clock.now();
    const claimed = await this.reports.claim(table, now, new Date(now.getTime() + CLAIM_MS), BATCH);
    for (const report of claimed) {
      await this.workOffOne(report);
      // Parsing is plain computation.
      await nextTurn();
    }
    return claimed.length;
  }

  /** One that fails waits for the end of its claim; the others go on. */
  private async workOffOne(report: ClaimedReport): Promise<void> {
    try {
      await this.settlement.settle(report, await this.examiner.examine(report));
    } catch (error) {
      this.logger.warn(`Report ${report.id} could not be worked off: ${(error as Error).message}`);
    }
  }
}
