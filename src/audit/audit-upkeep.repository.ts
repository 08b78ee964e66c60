import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.service';
import { deleteOldEntries } from './sql/delete-old-entries.sql';

@Injectable()
export class AuditUpkeepRepository {
  constructor(private readonly database: Database) {}

  /** Answers how many were deleted. */
  async deleteBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldEntries(before, limit))).length;
  }
}
