import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { HOUR } from '../../../common/clock';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { Metrics } from '../../../common/metrics/metrics';
import { PartitionCreationService, type PartitionsReport } from './partition-creation.service';
import { PartitionRetentionService } from './partition-retention.service';

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
