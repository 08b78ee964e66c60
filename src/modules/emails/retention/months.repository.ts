import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import type { Month, MonthlyTable } from './months';
import { type Added, addMonth, dropMonth, type Dropped } from './sql/change-partitions.sql';
import { deleteStrays } from './sql/delete-strays.sql';
import { listPartitions, listStrays } from './sql/list-months.sql';
import { lockPartitions } from './sql/lock-partitions.sql';

export interface TableMonth {
  readonly table: MonthlyTable;
  readonly month: Month;
}

/** Rows that lie in a default partition. */
export interface Strays extends TableMonth {
  readonly rows: number;
}

/** The partitions of the tables of emails. Changes of them throw UnavailableError when a lock is not to be had soon. */
@Injectable()
export class MonthsRepository {
  constructor(private readonly database: Database) {}

  listPartitions(): Promise<TableMonth[]> {
    return this.database.run(listPartitions());
  }

  listStrays(): Promise<Strays[]> {
    return this.database.run(listStrays());
  }

  /** What of the month lies in the default partition moves, unless that holds more bytes than may be moved. */
  async add({ table, month }: TableMonth, maxMovedBytes: number): Promise<Added> {
    const [row] = await this.database.run(addMonth(table, month, maxMovedBytes));
    return row?.result ?? 'busy';
  }

  /** False when another process is changing partitions. */
  async lock(tx: Transaction): Promise<boolean> {
    const [row] = await tx.run(lockPartitions());
    return row?.isOurs ?? false;
  }

  async drop({ table, month }: TableMonth, tx?: Transaction): Promise<Dropped> {
    const [row] = await (tx ?? this.database).run(dropMonth(table, month));
    return row?.result ?? 'busy';
  }

  /** Answers how many were deleted. */
  async deleteStrays({ table, month }: TableMonth, limit: number): Promise<number> {
    return (await this.database.run(deleteStrays(table, month, limit))).length;
  }
}
