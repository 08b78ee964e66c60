import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Clock, HOUR } from '../../../common/clock';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { Metrics } from '../../../common/metrics/metrics';
import { AppConfig } from '../../../config/config';
import { DeliveryQueueRepository } from '../../../delivery/queue/delivery-queue.repository';
import { distinctMonths, idsOf, type Month, monthOf } from './months';
import {
  PartitionCreationService,
  PartitionRemovalService,
  type PartitionsReport,
  type Removed,
} from './partitions.service';
import { RetentionRepository } from './retention.repository';

interface RetentionReport extends Removed {
  /** Months that are kept beyond their time, because deliveries of them are open. */
  readonly kept: number;
}

/** Removes the months of emails whose retention is over. One with an open delivery is kept until a later run. */
@Injectable()
export class PartitionRetentionService {
  constructor(
    private readonly partitions: RetentionRepository,
    private readonly removal: PartitionRemovalService,
    private readonly queue: DeliveryQueueRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** @throws UnavailableError when a table is in use for long; the rest is removed at the next run */
  async run(): Promise<RetentionReport> {
    let [kept, partitions, rows] = [0, 0, 0];
    for (const month of await this.expiredMonths()) {
      if (await this.isOpen(month)) {
        kept += 1;
        continue;
      }
      const removed = await this.removal.remove(month);
      partitions += removed.partitions;
      rows += removed.rows;
    }
    return { kept, partitions, rows };
  }

  /** Months whose youngest email is old enough, partitions and rows in the default partitions alike. */
  private async expiredMonths(): Promise<Month[]> {
    const oldestKept = monthOf(this.clock.now(), -this.config.retention.emailMonths);
    const known = [...(await this.partitions.listPartitions()), ...(await this.partitions.listDefaultRows())];
    return distinctMonths(known.map(({ month }) => month)).filter((month) => month < oldestKept);
  }

  private isOpen(month: Month): Promise<boolean> {
    const { from, to } = idsOf(month);
    return this.queue.hasOpenBetween(from, to);
  }
}

/** Creates the monthly partitions of emails ahead of time, removes old ones, and reports both in the metrics. */
@Injectable()
export class PartitionsJob implements OnApplicationBootstrap {
  private readonly dropped: Counter;
  /** What the last runs in this process found. */
  private created: PartitionsReport | undefined;
  private kept: number | undefined;

  constructor(
    private readonly creation: PartitionCreationService,
    private readonly retention: PartitionRetentionService,
    private readonly jobs: PeriodicJobs,
    gauges: InstallationGauges,
    metrics: Metrics,
  ) {
    this.dropped = metrics.counter({ name: 'retention_partitions_dropped_total', help: 'Partitions dropped' });
    const ahead = { name: 'partitions_ahead', help: 'Months ahead that have partitions' };
    gauges.showOfWorkers(ahead, () => this.created?.ahead);
    const help = 'Rows that found no partition of their month';
    gauges.showOfWorkers({ name: 'default_partition_rows', help, label: 'table' }, () => {
      return this.created && Object.fromEntries(this.created.defaultRows);
    });
    const kept = 'Months of emails kept beyond their time, because deliveries of them are open';
    gauges.showOfWorkers({ name: 'retention_partitions_kept', help: kept }, () => this.kept);
  }

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'create-partitions', everyMs: HOUR, exclusive: true, run: () => this.createPartitions() });
    this.jobs.startRemoval({
      name: 'remove-old-months',
      everyMs: HOUR,
      run: () => this.removePartitions(),
    });
  }

  async createPartitions(): Promise<void> {
    this.created = await this.creation.run();
  }

  /** Returns the number of rows that were deleted one by one. */
  async removePartitions(): Promise<number> {
    const { kept, partitions, rows } = await this.retention.run();
    this.kept = kept;
    this.dropped.inc(partitions);
    return rows;
  }
}
