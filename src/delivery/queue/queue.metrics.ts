import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { BriefCache, within } from '../../common/async/promises';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { type InstallationGauge, InstallationGauges } from '../../common/jobs/installation-gauges';
import { Metrics, type Reading } from '../../common/metrics/metrics';
import { HeldDestinations } from '../shaping/held-destinations.service';
import { type QueueBloat, type QueueMeasure } from './delivery-queue.repository';
import { QueueMeasures } from './queue-measures.service';

/** The gauges of one scrape share one statement. */
const CACHE_MS = 2 * SECOND;
const BLOAT_CACHE_MS = MINUTE;
/** A database that hangs must not cost the scrape the other metrics. */
const TIMEOUT_MS = 2 * SECOND;

/**
 * The queue as Prometheus sees it, measured when it is scraped, and shown by one process for the whole installation. A
 * measure that fails leaves no values rather than old ones, and is counted.
 */
@Injectable()
export class QueueMetrics {
  private readonly measure: BriefCache<QueueMeasure>;
  private readonly bloat: BriefCache<QueueBloat>;
  private readonly failures: Counter;

  constructor(
    private readonly measures: QueueMeasures,
    private readonly held: HeldDestinations,
    private readonly gauges: InstallationGauges,
    metrics: Metrics,
    clock: Clock,
  ) {
    this.measure = new BriefCache(() => this.measured(), CACHE_MS, clock);
    this.bloat = new BriefCache(() => this.measures.bloat(), BLOAT_CACHE_MS, clock);
    this.failures = metrics.counter({
      name: 'queue_measure_failures_total',
      help: 'Measures of the delivery queue that failed',
    });
    this.showQueue();
    this.showHeldBack();
    this.showBloat();
  }

  private showQueue(): void {
    this.show({ name: 'queue_deliveries', help: 'Open deliveries by state', label: 'state' }, (measure) => {
      const { ready, waiting, claimed, held } = measure;
      return { ready, waiting, claimed, held };
    });
    const heldBack = 'Ready deliveries whose destination gets less mail than it could, or none';
    this.show({ name: 'queue_held_back_deliveries', help: heldBack }, (measure) => measure.heldBack);
    const oldest = 'How long the oldest ready delivery whose destination is not held back has waited';
    this.show({ name: 'queue_oldest_ready_seconds', help: oldest }, (measure) =>
      Math.max(0, measure.oldestReadySeconds),
    );
    const workers = 'Live worker processes of the whole installation';
    this.show({ name: 'workers', help: workers }, (measure) => measure.workers);
  }

  private showHeldBack(): void {
    const help = 'Groups of destinations that get less mail than they could, or none, as all workers share it';
    this.gauges.show({ name: 'destinations_held_back', help, label: 'state' }, async () => {
      return { ...(await this.held.get()).counts };
    });
  }

  private show(gauge: InstallationGauge, valueOf: (measure: QueueMeasure) => Reading): void {
    this.gauges.show(gauge, async () => valueOf(await this.measure.get()));
  }

  /**
   * Whether vacuuming keeps up with the queue, whose rows change three times and are deleted: under an even load dead rows
   * and bytes do not grow.
   */
  private showBloat(): void {
    const rows = { name: 'queue_dead_rows', help: 'Dead rows in the table of the delivery queue' };
    this.gauges.show(rows, async () => (await this.bloat.get()).deadRows);
    const bytes = { name: 'queue_table_bytes', help: 'Size of the table of the delivery queue, with its indexes' };
    this.gauges.show(bytes, async () => (await this.bloat.get()).bytes);
  }

  private async measured(): Promise<QueueMeasure> {
    try {
      return await within(this.measures.last(), TIMEOUT_MS);
    } catch (error) {
      this.failures.inc();
      throw error;
    }
  }
}
