import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import { createPartitions } from './sql/create-partitions.sql';
import { deleteExpiredKeys } from './sql/delete-expired-keys.sql';

const PARTITIONED = ['emails', 'email_contents', 'email_attachments', 'email_recipients', 'email_events'];

@Injectable()
export class EmailUpkeepRepository {
  constructor(private readonly database: Database) {}

  async createPartitions(monthsAhead: number): Promise<void> {
    for (const parent of PARTITIONED) await this.database.run(createPartitions(parent, monthsAhead));
  }

  /** Answers how many were deleted. */
  async deleteKeysBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteExpiredKeys(before, limit))).length;
  }
}
