import { Injectable } from '@nestjs/common';
import { BriefCache, within } from '../../common/async/promises';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import type { QueueBloat } from './sql/measure-queue.sql';

const CACHE_MS = MINUTE;
const TIMEOUT_MS = 2 * SECOND;

/**
 * Whether vacuuming keeps up with the queue, whose rows change thrice and go: dead rows and bytes stay where they are under
 * an even load. Of the whole installation: take `max`. No values while the database is away.
 */
@Injectable()
export class QueueBloatMetrics {
  private readonly measure: BriefCache<QueueBloat | undefined>;

  constructor(
    queue: DeliveryQueueRepository,
    private readonly metrics: Metrics,
    clock: Clock,
  ) {
    const measured = () => within(queue.measureBloat(), TIMEOUT_MS).catch(() => undefined);
    this.measure = new BriefCache<QueueBloat | undefined>(measured, CACHE_MS, clock);
    this.show('queue_dead_rows', 'Dead rows in the table of the delivery queue', 'deadRows');
    this.show('queue_table_bytes', 'Size of the table of the delivery queue, with its indexes', 'bytes');
  }

  private show(name: string, help: string, value: keyof QueueBloat): void {
    this.metrics.gauge({ name, help }, async (gauge) => {
      const bloat = await this.measure.get();
      if (bloat) gauge.set(bloat[value]);
      else gauge.remove();
    });
  }
}
