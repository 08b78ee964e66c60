import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import { deleteExpiredKeys } from './sql/delete-expired-keys.sql';
import { deleteOldTestUsage } from './sql/test-usage.sql';

@Injectable()
export class EmailUpkeepRepository {
  constructor(private readonly database: Database) {}

  /** Answers how many were deleted. */
  async deleteKeysBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteExpiredKeys(before, limit))).length;
  }

  /** Answers how many were deleted. @param before a UTC date */
  async deleteTestUsageBefore(before: string): Promise<number> {
    return (await this.database.run(deleteOldTestUsage(before))).length;
  }
}
