import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { BriefCache } from '../../../common/async/promises';
import { Clock, SECOND } from '../../../common/clock';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { Metrics } from '../../../common/metrics/metrics';
import { Database } from '../../../database/database.service';
import { OutcomeRecorder } from '../../emails/outcomes/outcome-recorder.service';
import type { ClaimedReport } from '../queue/inbound-report.entity';
import { InboundReportsRepository } from '../queue/inbound-reports.repository';
import type { Finding } from './report-examiner.service';
import type { ReportsMeasure } from '../queue/sql/process-reports.sql';

/** The gauges of one scrape share one statement. */
const CACHE_MS = 2 * SECOND;

/** Those used by alerts start at 0; ignored ones, by reason, start with the first. */
const DISPOSITIONS = [
  ...['hard_bounce', 'soft_bounce', 'delivered', 'spam_report', 'unsubscribed'],
  ...['dmarc', 'tls-report', 'unknown-email', 'duplicate', 'abandoned'],
];

/** What has become of reports, and how many are still to be worked off in the whole installation. */
@Injectable()
export class ProcessingMetrics implements OnModuleInit {
  private readonly measure: BriefCache<ReportsMeasure>;
  private readonly dispositions: Counter;

  constructor(
    reports: InboundReportsRepository,
    private readonly gauges: InstallationGauges,
    metrics: Metrics,
    clock: Clock,
  ) {
    this.measure = new BriefCache(() => reports.measure(clock.now()), CACHE_MS, clock);
    this.dispositions = metrics.counter({
      name: 'inbound_processed_total',
      help: 'Reports that were worked off, by what they turned out to be',
      labels: { disposition: DISPOSITIONS },
    });
  }

  onModuleInit(): void {
    const open = { name: 'inbound_open_reports', help: 'Reports that wait to be worked off' };
    this.gauges.showOfWorkers(open, async () => (await this.measure.get()).open);
    const oldest = { name: 'inbound_oldest_report_seconds', help: 'How long the oldest of them has waited' };
    this.gauges.showOfWorkers(oldest, async () => (await this.measure.get()).oldestSeconds);
  }

  count(disposition: string): void {
    this.dispositions.inc({ disposition });
  }
}

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
