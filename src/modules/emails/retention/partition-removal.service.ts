import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations.service';
import { deleteInBatches } from '../../../common/jobs/delete-in-batches';
import { Database } from '../../../database/database.service';
import { StatsService } from '../../stats/stats.service';
import { type Month, MONTHLY_TABLES, type MonthlyTable, spanOf } from './months';
import { RetentionRepository } from './retention.repository';

const BATCH = 5_000;
/** Organizations whose counters one statement changes. */
const PAGE = 100;
const CHILDREN = MONTHLY_TABLES.filter((table) => table !== 'emails');

export interface Removed {
  readonly partitions: number;
  /** Deleted one by one, from the default partitions. */
  readonly rows: number;
}

/**
 * Removes a month of every organization's emails. The emails themselves go first, together with their counts: a reader that
 * finds one finds all that belongs to it, and what a failure leaves for the next run belongs to no email any more.
 */
@Injectable()
export class PartitionRemovalService {
  constructor(
    private readonly database: Database,
    private readonly partitions: RetentionRepository,
    private readonly organizations: OrganizationsService,
    private readonly stats: StatsService,
  ) {}

  /** Does nothing when another process is changing partitions. @throws UnavailableError when a lock is not to be had soon */
  async remove(month: Month): Promise<Removed> {
    const emails = await this.dropEmails(month);
    if (emails === undefined) return { partitions: 0, rows: 0 };
    let [partitions, rows] = [emails, await this.deleteDefaultRows('emails', month)];
    for (const table of CHILDREN) {
      if ((await this.partitions.dropPartition({ table, month })) === 'dropped') partitions += 1;
      rows += await this.deleteDefaultRows(table, month);
    }
    return { partitions, rows };
  }

  /** Returns the number of dropped partitions; undefined while another process is changing partitions. */
  private async dropEmails(month: Month): Promise<number | undefined> {
    const organizations = await this.organizations.list();
    return this.database.transaction(async (tx) => {
      if (!(await this.partitions.lockPartitions(tx))) return undefined;
      for (let start = 0; start < organizations.length; start += PAGE) {
        const ids = organizations.slice(start, start + PAGE).map(({ id }) => id);
        await this.stats.forgetEmails(ids, spanOf(month), tx);
      }
      return (await this.partitions.dropPartition({ table: 'emails', month }, tx)) === 'dropped' ? 1 : 0;
    });
  }

  private deleteDefaultRows(table: MonthlyTable, month: Month): Promise<number> {
    return deleteInBatches(BATCH, (limit) => this.partitions.deleteDefaultRows({ table, month }, limit));
  }
}
