import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
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

/** Rows of a month that lie in a default partition. */
export interface DefaultRows extends TableMonth {
  readonly rows: number;
}

/**
 * What the retention of emails removes: monthly partitions, and contents before their emails. Changes of partitions throw
 * UnavailableError when a lock is not to be had soon.
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

  /** Rows of the month in the default partition move, unless there are more bytes of them than may be moved. */
  async addPartition({ table, month }: TableMonth, maxMovedBytes: number): Promise<Added> {
    const [row] = await this.database.run(addPartition(table, month, maxMovedBytes));
    return row?.result ?? 'busy';
  }

  /** False when another process is changing partitions. */
  async lockPartitions(tx: Transaction): Promise<boolean> {
    const [row] = await tx.run(lockPartitions());
    return row?.isOurs ?? false;
  }

  async dropPartition({ table, month }: TableMonth, tx?: Transaction): Promise<Dropped> {
    const [row] = await (tx ?? this.database).run(dropPartition(table, month));
    return row?.result ?? 'busy';
  }

  /** Deletes about `limit` rows, all of their last email; returns how many it deleted, fewer than `limit` when none are left. */
  async deleteDefaultRows({ table, month }: TableMonth, limit: number): Promise<number> {
    const [last] = await this.database.run(findNthDefaultKey(table, month, limit));
    return (await this.database.run(deleteDefaultRows(table, month, last?.key))).length;
  }

  /** Examines the next `limit` emails of the page, and deletes the contents of those at their end. */
  async deleteContents(page: ContentPage, limit: number): Promise<DeletedContents> {
    const [row] = await this.database.run(deleteContents(page, limit));
    return row ?? { examined: 0, lastId: null, deleted: 0 };
  }
}
