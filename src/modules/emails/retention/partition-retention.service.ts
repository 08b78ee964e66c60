import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { AppConfig } from '../../../config/config';
import { DeliveryQueueRepository } from '../../../delivery/queue/delivery-queue.repository';
import { distinctMonths, idsOf, type Month, monthOf } from './months';
import { PartitionRemovalService, type Removed } from './partition-removal.service';
import { RetentionRepository } from './retention.repository';

export interface RetentionReport extends Removed {
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
