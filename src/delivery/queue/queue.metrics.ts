import { Injectable } from '@nestjs/common';
import type { Counter, Gauge } from 'prom-client';
import { BriefCache, within } from '../../common/async/promises';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import type { QueueBloat, QueueMeasure } from './sql/measure-queue.sql';

/** The gauges of one scrape share one statement. */
const CACHE_MS = 2 * SECOND;
const BLOAT_CACHE_MS = MINUTE;
/** A database that hangs must not cost the scrape the other metrics. */
const TIMEOUT_MS = 2 * SECOND;

/**
 * The queue as Prometheus sees it, measured when it is scraped. Every process reports the whole installation: take `max`,
 * not `sum`. A measure that fails leaves no values rather than old ones, and is counted.
 */
@Injectable()
export class QueueMetrics {
  private readonly measure: BriefCache<QueueMeasure | undefined>;
  private readonly bloat: BriefCache<QueueBloat | undefined>;
  private readonly failures: Counter;

  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly metrics: Metrics,
    clock: Clock,
  ) {
    this.measure = new BriefCache(() => this.measured(), CACHE_MS, clock);
    this.bloat = new BriefCache(() => this.measuredBloat(), BLOAT_CACHE_MS, clock);
    this.failures = metrics.counter({
      name: 'queue_measure_failed',
      help: 'Measures of the delivery queue that failed',
    });
    this.showStates();
    this.show('queue_oldest_ready_seconds', 'How long the oldest delivery that could start has waited', (measure) =>
      Math.max(0, measure.oldestReadySeconds),
    );
    this.show('workers', 'Live worker processes of the whole installation', (measure) => measure.workers);
    this.showBloat('queue_dead_rows', 'Dead rows in the table of the delivery queue', 'deadRows');
    this.showBloat('queue_table_bytes', 'Size of the table of the delivery queue, with its indexes', 'bytes');
  }

  private showStates(): void {
    const options = { name: 'queue_deliveries', help: 'Open deliveries by state', labels: ['state'] };
    this.metrics.gauge(options, async (gauge) => {
      const measure = await this.measure.get();
      gauge.reset();
      if (!measure) return;
      const { ready, waiting, claimed } = measure;
      for (const [state, count] of Object.entries({ ready, waiting, claimed })) gauge.set({ state }, count);
    });
  }

  private show(name: string, help: string, valueOf: (measure: QueueMeasure) => number): void {
    this.metrics.gauge({ name, help }, async (gauge) => {
      const measure = await this.measure.get();
      setOrRemove(gauge, measure && valueOf(measure));
    });
  }

  /**
   * Whether vacuuming keeps up with the queue, whose rows change three times and are deleted: under an even load dead rows
   * and bytes do not grow.
   */
  private showBloat(name: string, help: string, value: keyof QueueBloat): void {
    this.metrics.gauge({ name, help }, async (gauge) => {
      const bloat = await this.bloat.get();
      setOrRemove(gauge, bloat?.[value]);
    });
  }

  private async measured(): Promise<QueueMeasure | undefined> {
    try {
      return await within(this.queue.lastMeasure(), TIMEOUT_MS);
    } catch {
      this.failures.inc();
      return undefined;
    }
  }

  private async measuredBloat(): Promise<QueueBloat | undefined> {
    try {
      return await within(this.queue.measureBloat(), TIMEOUT_MS);
    } catch {
      return undefined;
    }
  }
}

function setOrRemove(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}
