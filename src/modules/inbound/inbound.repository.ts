import { Injectable } from '@nestjs/common';
import { firstIdAt } from '../../common/ids';
import { Database } from '../../database/database.service';
import type { NewInboundReport } from './inbound-report';
import { deleteOldReports } from './sql/delete-old-reports.sql';
import { insertReports } from './sql/insert-reports.sql';

@Injectable()
export class InboundRepository {
  constructor(private readonly database: Database) {}

  /** All of them or none; answers how many were new. */
  async append(
    reports: readonly NewInboundReport[],
    message: { readonly digest: Buffer; readonly raw: Buffer; readonly receivedAt: Date },
  ): Promise<number> {
    return (await this.database.run(insertReports(reports, message))).length;
  }

  /** Answers how many were deleted. */
  async deleteBefore(time: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldReports(firstIdAt(time), limit))).length;
  }
}
