import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { BriefCache, within } from '../../../common/async/promises';
import { Clock, SECOND } from '../../../common/clock';
import { Metrics } from '../../../common/metrics/metrics';
import { InboundRepository } from '../inbound.repository';
import type { ReportsMeasure } from '../sql/process-reports.sql';

/** The gauges of one scrape share one statement. */
const CACHE_MS = 2 * SECOND;
const TIMEOUT_MS = 2 * SECOND;

/** What has become of reports, and how many are still to be worked off in the whole installation. */
@Injectable()
export class ProcessingMetrics implements OnModuleInit {
  private readonly measure: BriefCache<ReportsMeasure | undefined>;
  private readonly dispositions: Counter;

  constructor(
    reports: InboundRepository,
    private readonly metrics: Metrics,
    clock: Clock,
  ) {
    // A scrape is worth more without these values than not at all while the database is away.
    const measured = () => within(reports.measure(clock.now()), TIMEOUT_MS).catch(() => undefined);
    this.measure = new BriefCache(measured, CACHE_MS, clock);
    this.dispositions = metrics.counter({
      name: 'inbound_processed_total',
      help: 'Reports that were worked off, by what they turned out to be',
      labels: ['disposition'],
    });
  }

  onModuleInit(): void {
    this.show('inbound_open_reports', 'Reports that wait to be worked off', ({ open }) => open);
    this.show('inbound_oldest_report_seconds', 'How long the oldest of them has waited', ({ oldestSeconds }) => {
      return oldestSeconds;
    });
  }

  count(disposition: string): void {
    this.dispositions.inc({ disposition });
  }

  private show(name: string, help: string, valueOf: (measure: ReportsMeasure) => number): void {
    this.metrics.gauge({ name, help }, async (gauge) => {
      const measure = await this.measure.get();
      if (measure) gauge.set(valueOf(measure));
      else gauge.remove();
    });
  }
}
