import { Injectable } from '@nestjs/common';
import { firstIdAt } from '../../common/ids';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import type { DeliveryKey } from '../../delivery/ports/delivery';
import type { NewFeedbackReport, NewInboundReport } from './inbound-report';
import { deleteOldFeedback } from './sql/delete-old-feedback.sql';
import { deleteOldReports } from './sql/delete-old-reports.sql';
import { deleteReportsOf } from './sql/delete-reports-of.sql';
import { insertFeedbackReport, type FeedbackLimits } from './sql/insert-feedback-report.sql';
import { insertReports } from './sql/insert-reports.sql';

/** `full`: there are too many of its kind, and it was not stored. */
export type Appended = 'new' | 'duplicate' | 'full';

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

  async appendFeedback(
    report: NewFeedbackReport,
    { since, ...limits }: Omit<FeedbackLimits, 'sinceId'> & { readonly since: Date },
  ): Promise<Appended> {
    const [row] = await this.database.run(insertFeedbackReport(report, { ...limits, sinceId: firstIdAt(since) }));
    if (!row?.isLeft) return 'full';
    return row.isNew ? 'new' : 'duplicate';
  }

  /** Answers how many were deleted. */
  async deleteOf(keys: readonly DeliveryKey[], tx: Transaction): Promise<number> {
    const [row] = await tx.run(deleteReportsOf(keys));
    return row?.deleted ?? 0;
  }

  /** Answers how many were deleted. */
  async deleteBefore(time: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldReports(firstIdAt(time), limit))).length;
  }

  /** Answers how many were deleted. @param useless the later bound for what turned out to be no complaint */
  async deleteFeedbackBefore(time: Date, useless: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldFeedback(firstIdAt(time), firstIdAt(useless), limit))).length;
  }
}
