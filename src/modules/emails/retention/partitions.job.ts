import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { Metrics } from '../../../common/metrics/metrics';
import { PartitionCreationService } from './partition-creation.service';
import { PartitionRetentionService } from './partition-retention.service';

/** Creates the monthly partitions of emails ahead of time, removes old ones, and reports both in the metrics. */
@Injectable()
export class PartitionsJob implements OnApplicationBootstrap {
  constructor(
    private readonly creation: PartitionCreationService,
    private readonly retention: PartitionRetentionService,
    private readonly jobs: PeriodicJobs,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'create-partitions', everyMs: HOUR, exclusive: true, run: () => this.createPartitions() });
    this.jobs.startRemoval({
      name: 'remove-old-months',
      everyMs: HOUR,
      exclusive: true,
      run: () => this.removePartitions(),
    });
  }

  async createPartitions(): Promise<void> {
    const { ahead, defaultRows } = await this.creation.run();
    this.metrics.gauge({ name: 'partitions_ahead', help: 'Months ahead that have partitions' }).set(ahead);
    const inDefault = this.metrics.gauge({
      name: 'default_partition_rows',
      help: 'Rows that found no partition of their month',
      labels: ['table'],
    });
    for (const [table, rows] of defaultRows) inDefault.set({ table }, rows);
  }

  /** Returns the number of rows that were deleted one by one. */
  async removePartitions(): Promise<number> {
    const { kept, partitions, rows } = await this.retention.run();
    const help = 'Months of emails kept beyond their time, because deliveries of them are open';
    this.metrics.gauge({ name: 'retention_partitions_kept', help }).set(kept);
    this.metrics.counter({ name: 'retention_partitions_dropped_total', help: 'Partitions dropped' }).inc(partitions);
    return rows;
  }
}
