import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { Database } from '../../../database/pool/database.service';
import { OutcomeRecorder } from '../../emails/outcomes/outcome-recorder.service';
import type { ClaimedReport } from '../queue/inbound-report.entity';
import { InboundReportsRepository } from '../queue/inbound-reports.repository';
import { ProcessingMetrics } from './processing.metrics';
import type { Finding } from './report-examiner.service';

/** Ends the work on a report and records its result, in one transaction. */
@Injectable()
export class ReportSettlement {
  constructor(
    private readonly reports: InboundReportsRepository,
    private readonly recorder: OutcomeRecorder,
    private readonly database: Database,
    private readonly metrics: ProcessingMetrics,
    private readonly clock: Clock,
  ) {}

  /** Records nothing when another worker has taken the report up meanwhile. @throws UnavailableError */
  async settle(report: ClaimedReport, { disposition, subject, ...found }: Finding): Promise<void> {
    const end = { processedAt: this.clock.now(), disposition, subject };
    const isOurs = await this.database.transaction(async (tx) => {
      const isSettled = await this.reports.settle(report, end, tx);
      if (isSettled && found.outcome) await this.recorder.record([found.outcome], tx);
      if (isSettled && found.complaint) await this.recorder.recordComplaint(found.complaint, tx);
      if (isSettled && found.record) await found.record(tx);
      return isSettled;
    });
    if (isOurs) this.metrics.count(disposition);
  }
}
