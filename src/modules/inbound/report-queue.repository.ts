import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import type { ClaimedReport, ReportSubject, ReportTable } from './inbound-report';
import { type ClaimedRow, claimReports } from './sql/claim-reports.sql';
import { measureReports, type ReportsMeasure } from './sql/measure-reports.sql';
import { type ReportEnd, settleReport } from './sql/settle-report.sql';

/** The reports that wait to be worked off. */
@Injectable()
export class ReportQueueRepository {
  constructor(private readonly database: Database) {}

  /** Oldest first. */
  async claim(table: ReportTable, now: Date, until: Date, limit: number): Promise<ClaimedReport[]> {
    const rows = await this.database.run(claimReports(table, now, until, limit));
    rows.sort((one, other) => (one.id < other.id ? -1 : 1));
    return rows.map((row) => {
      const { id, attempts, receivedAt, raw } = row;
      return { table, id, attempts, receivedAt, raw, subject: subjectOf(row) };
    });
  }

  /** False when the claim has been lost: then nothing of it may be recorded. */
  async settle(report: ClaimedReport, end: ReportEnd, tx: Transaction): Promise<boolean> {
    return (await tx.run(settleReport(report, end))).length > 0;
  }

  async measure(now: Date): Promise<ReportsMeasure> {
    const [measure] = await this.database.run(measureReports(now));
    return measure ?? { open: 0, oldestSeconds: 0 };
  }
}

function subjectOf({ organizationId, mode, emailId, position }: ClaimedRow): ReportSubject | undefined {
  if (organizationId === null || mode === null || emailId === null || position === null) return undefined;
  return { organizationId, mode, emailId, position };
}
