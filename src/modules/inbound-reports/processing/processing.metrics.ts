import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { BriefCache } from '../../../common/async/promises';
import { Clock, SECOND } from '../../../common/clock';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { Metrics } from '../../../common/metrics/metrics';
import { InboundReportsRepository } from '../queue/inbound-reports.repository';
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
