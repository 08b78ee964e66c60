import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Counter, Gauge } from 'prom-client';
import { HOUR } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { Metrics } from '../../../common/metrics/metrics';
import { ContentRetention } from './content-retention.service';
import { MonthCreation } from './month-creation.service';
import { MonthRetention } from './month-retention.service';

/** Worker role: the jobs that make room for emails and remove old ones, and what they tell. */
@Injectable()
export class EmailRetention implements OnApplicationBootstrap {
  private readonly ahead: Gauge;
  private readonly strays: Gauge;
  private readonly kept: Gauge;
  private readonly dropped: Counter;

  constructor(
    private readonly creation: MonthCreation,
    private readonly months: MonthRetention,
    private readonly contents: ContentRetention,
    private readonly jobs: PeriodicJobs,
    metrics: Metrics,
  ) {
    this.ahead = metrics.gauge({ name: 'partitions_ahead', help: 'Months ahead that have partitions' });
    this.strays = metrics.gauge({
      name: 'default_partition_rows',
      help: 'Rows that found no partition of their month',
      labels: ['table'],
    });
    this.kept = metrics.gauge({
      name: 'retention_partitions_kept',
      help: 'Months of emails kept beyond their time, because deliveries of them are open',
    });
    this.dropped = metrics.counter({ name: 'retention_partitions_dropped_total', help: 'Partitions dropped' });
  }

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'create-partitions', everyMs: HOUR, run: () => this.createMonths() });
    this.jobs.startRemoval({ name: 'remove-old-months', everyMs: HOUR, run: () => this.removeMonths() });
    this.jobs.startRemoval({ name: 'remove-contents', everyMs: 6 * HOUR, run: () => this.contents.run() });
  }

  async createMonths(): Promise<void> {
    const { ahead, strays } = await this.creation.run();
    this.ahead.set(ahead);
    for (const [table, rows] of strays) this.strays.set({ table }, rows);
  }

  /** Answers how many rows were deleted one by one. */
  async removeMonths(): Promise<number> {
    const { kept, partitions, rows } = await this.months.run();
    this.kept.set(kept);
    this.dropped.inc(partitions);
    return rows;
  }
}
