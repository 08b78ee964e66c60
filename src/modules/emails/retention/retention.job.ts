import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { BatchSize } from '../../../common/async/batch-size';
import { Clock, DAY, HOUR, MINUTE } from '../../../common/clock';
import { firstIdAt, NIL_ID } from '../../../common/ids';
import { deleteInBatches, PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { Metrics } from '../../../common/metrics/metrics';
import { type Mode, MODES } from '../../../common/tenant';
import { AppConfig } from '../../../config/config';
import { DeliveryQueueRepository } from '../../../delivery/queue/delivery-queue.repository';
import { ranOutOfTime } from '../../../database/statements/database-errors';
import { AcceptRepository } from '../accept/commit/accept.repository';
import { distinctMonths, idsOf, type Month, monthOf } from './months';
import {
  PartitionCreationService,
  PartitionRemovalService,
  type PartitionsReport,
  type Removed,
} from './partitions.service';
import { RetentionRepository } from './retention.repository';

interface RetentionReport extends Removed {
  /** Months that are kept beyond their retention, because they have open deliveries. */
  readonly kept: number;
}

/** Removes months of emails after their retention period. A month with an open delivery is kept until a later run. */
@Injectable()
export class PartitionRetentionService {
  constructor(
    private readonly partitions: RetentionRepository,
    private readonly removal: PartitionRemovalService,
    private readonly queue: DeliveryQueueRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** @throws UnavailableError when a table stays locked; the next run removes the rest */
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

  /** Months whose newest email is old enough, in partitions of their own and in the default partitions. */
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
  /** The results of the last runs in this process. */
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
    const help = 'Rows in the default partitions, for lack of a partition of their month';
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

  /** A run that fails, such as for a lock, shows what there is: the figures of an earlier run would stay as they were. */
  async createPartitions(): Promise<void> {
    try {
      this.created = await this.creation.run();
    } catch (error) {
      this.created = await this.creation.report().catch(() => undefined);
      throw error;
    }
  }

  /** Returns the number of rows deleted one by one. */
  async removePartitions(): Promise<number> {
    const { kept, partitions, rows } = await this.retention.run();
    this.kept = kept;
    this.dropped.inc(partitions);
    return rows;
  }
}

const BATCH = { most: 1_000, least: 1, tookTooLong: ranOutOfTime };

/** The position of the scan within the contents of one tenant. */
interface Walk {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly afterId: string;
}

/**
 * Deletes bodies, headers and attachments some time after the email's last recipient has reached a final state. Scans the
 * stored contents, a batch of each tenant in turn and the oldest first: each is examined once, except mail that ended late
 * (scheduled, deferred).
 */
@Injectable()
export class ContentRemovalJob implements OnApplicationBootstrap {
  /** Attachments of a thousand emails may be gigabytes. */
  private readonly batch = new BatchSize(BATCH);

  constructor(
    private readonly contents: RetentionRepository,
    private readonly organizations: OrganizationsService,
    private readonly jobs: PeriodicJobs,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'remove-contents', everyMs: 6 * HOUR, run: () => this.run() });
  }

  /** Returns the number of emails whose contents were deleted. */
  async run(): Promise<number> {
    const endedBefore = new Date(this.clock.now().getTime() - this.config.retention.contentDays * DAY);
    const organizations = await this.organizations.list();
    let walks = organizations.flatMap(({ id }) =>
      MODES.map((mode): Walk => ({ organizationId: id, mode, afterId: NIL_ID })),
    );
    let deleted = 0;
    while (walks.length > 0 && !this.jobs.ending.aborted) {
      const left: Walk[] = [];
      for (const walk of walks) {
        await this.jobs.attempt(`The removal of contents of ${walk.organizationId}`, async () => {
          const page = await this.clear(walk, endedBefore);
          deleted += page.deleted;
          if (page.next !== undefined) left.push({ ...walk, afterId: page.next });
        });
      }
      walks = left;
    }
    return deleted;
  }

  /**
   * Processes one batch; `next` is the start of the next one, if there is one. One that takes too long is repeated with fewer emails: it
   * would come first in each run, and end it for all organizations.
   */
  private async clear(walk: Walk, endedBefore: Date): Promise<{ deleted: number; next: string | undefined }> {
    const page = { ...walk, beforeId: firstIdAt(endedBefore), endedBefore };
    for (;;) {
      const limit = this.batch.current;
      try {
        const { examined, lastId, deleted } = await this.batch.run((size) => this.contents.deleteContents(page, size));
        return { deleted, next: examined < limit || lastId === null ? undefined : lastId };
      } catch (error) {
        if (!ranOutOfTime(error) || this.jobs.ending.aborted) throw error;
        if (limit === 1) throw new Error('the contents of one email take too long', { cause: error });
      }
    }
  }
}

const KEY_BATCH = 5_000;
/** More than one day, since the clocks of processes may differ. */
const TEST_USAGE_DAYS = 2;
const MONTHLY_USAGE_DAYS = 62;

/**
 * Deletes data that accepting no longer needs: expired idempotency keys, test usage of past days, and organizations' usage of
 * past months.
 */
@Injectable()
export class AcceptRetentionJob implements OnApplicationBootstrap {
  constructor(
    private readonly accepts: AcceptRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'expire-idempotency-keys', everyMs: 10 * MINUTE, run: () => this.expireKeys() });
    this.jobs.startRemoval({ name: 'forget-test-usage', everyMs: 6 * HOUR, run: () => this.removeTestUsage() });
    this.jobs.startRemoval({ name: 'forget-monthly-usage', everyMs: 6 * HOUR, run: () => this.removeMonthlyUsage() });
  }

  /** Returns the number of deleted keys. */
  expireKeys(): Promise<number> {
    const now = this.clock.now();
    return deleteInBatches(KEY_BATCH, (limit) => this.accepts.deleteExpiredKeys(now, limit));
  }

  /** Returns the number of deleted rows. */
  removeMonthlyUsage(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - MONTHLY_USAGE_DAYS * DAY);
    return this.accepts.deleteMonthlyUsageBefore(before.toISOString().slice(0, 10));
  }

  /** Returns the number of deleted rows. */
  removeTestUsage(): Promise<number> {
    const before = new Date(this.clock.now().getTime() - TEST_USAGE_DAYS * DAY);
    return this.accepts.deleteTestUsageBefore(before.toISOString().slice(0, 10));
  }
}
