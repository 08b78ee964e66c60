import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type { Month, MonthlyTable } from './months';
import {
  type Added,
  addPartition,
  type ContentPage,
  deleteContents,
  type DeletedContents,
  deleteDefaultRows,
  dropPartition,
  type Dropped,
  findNthDefaultKey,
  listDefaultRows,
  listPartitions,
  lockPartitions,
} from './sql/retention.sql';

export interface TableMonth {
  readonly table: MonthlyTable;
  readonly month: Month;
}

/** Number of rows of a month in a default partition. */
export interface DefaultRows extends TableMonth {
  readonly rows: number;
}

/**
 * Removes emails after their retention: monthly partitions, and contents before their emails. Changes of partitions throw
 * UnavailableError when a lock is not available soon.
 */
@Injectable()
export class RetentionRepository {
  constructor(private readonly database: Database) {}

  listPartitions(): Promise<TableMonth[]> {
    return this.database.run(listPartitions());
  }

  listDefaultRows(): Promise<DefaultRows[]> {
    return this.database.run(listDefaultRows());
  }

  /** Adds a partition and moves the month's rows out of the default partition, unless they exceed `maxMovedBytes`. */
  async addPartition({ table, month }: TableMonth, maxMovedBytes: number): Promise<Added> {
    const [row] = await this.database.run(addPartition(table, month, maxMovedBytes));
    return row?.result ?? 'busy';
  }

  /** Returns false while another process changes partitions. */
  async lockPartitions(tx: Transaction): Promise<boolean> {
    const [row] = await tx.run(lockPartitions());
    return row?.isOurs ?? false;
  }

  /** Waits for another process that changes partitions. */
  async dropPartition({ table, month }: TableMonth, tx?: Transaction): Promise<Dropped> {
    const [row] = await (tx ?? this.database).run(dropPartition(table, month));
    return row?.result ?? 'absent';
  }

  /** Deletes about `limit` rows, including all of the last email; returns their number, less than `limit` when none are left. */
  async deleteDefaultRows({ table, month }: TableMonth, limit: number): Promise<number> {
    const [last] = await this.database.run(findNthDefaultKey(table, month, limit));
    return (await this.database.run(deleteDefaultRows(table, month, last?.key))).length;
  }

  /** Examines the next `limit` emails of the page, and deletes the contents of those in a final state. */
  async deleteContents(page: ContentPage, limit: number): Promise<DeletedContents> {
    const [row] = await this.database.run(deleteContents(page, limit));
    return row ?? { examined: 0, lastId: null, deleted: 0 };
  }
}
