import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { firstIdAt } from '../../../common/ids';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type { DeliveryKey } from '../../../delivery/ports/delivery';
import {
  type Appended,
  type ClaimedReport,
  FeedbackReport,
  type NewFeedbackReport,
  type NewInboundReport,
  type PublicMail,
  type PublicMailbox,
  type ReportSubject,
  type ReportTable,
} from './inbound-report.entity';
import {
  type AppendedReports,
  type FeedbackLimits,
  insertFeedbackReport,
  insertReports,
  type ReportedMessage,
  type ReportLimits,
} from './sql/append-reports.sql';
import { deleteOldFeedback, deleteOldReports, deleteReportsOf } from './sql/delete-reports.sql';
import {
  claimFeedbackReports,
  claimInboundReports,
  hasReports,
  type ClaimedRow,
  measureReports,
  type ReportEnd,
  type ReportsMeasure,
  settleReport,
} from './sql/process-reports.sql';

export type { AppendedReports };

/** With the organization whose turn it is. */
export type ClaimedInboundReport = ClaimedReport & { readonly organizationId: string };

const MAIL = { id: true, mailbox: true, receivedAt: true, size: true, disposition: true } as const;

/** Reports as they come, wait, are processed and go; and the mail that the operator reads. */
@Injectable()
export class InboundReportsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(FeedbackReport) private readonly feedback: Repository<FeedbackReport>,
  ) {}

  /** An SQL condition: whether any report waits, where a claim lasts so long. */
  hasOpen(claimSeconds: number): string {
    return hasReports(claimSeconds);
  }

  /** Of organizations with an id greater than `after`, see the statement; in no order. */
  async claimReports(now: Date, until: Date, limit: number, after: string): Promise<ClaimedInboundReport[]> {
    const rows = await this.database.run(claimInboundReports(now, until, limit, after));
    return rows.map((row) => ({ ...claimed('inbound_reports', row), organizationId: row.organizationId }));
  }

  /** Mail to public mailboxes, oldest first. */
  async claimFeedback(now: Date, until: Date, limit: number): Promise<ClaimedReport[]> {
    const rows = await this.database.run(claimFeedbackReports(now, until, limit));
    rows.sort((one, other) => (one.id < other.id ? -1 : 1));
    return rows.map((row) => claimed('feedback_reports', row));
  }

  /** False when the claim has been lost: then nothing may be recorded. */
  async settle(report: ClaimedReport, end: ReportEnd, tx: Transaction): Promise<boolean> {
    return (await tx.run(settleReport(report, end))).length > 0;
  }

  async measure(now: Date): Promise<ReportsMeasure> {
    const [measure] = await this.database.run(measureReports(now));
    return measure ?? { open: 0, oldestSeconds: 0 };
  }

  /** Those for which there is capacity. */
  async append(
    reports: readonly NewInboundReport[],
    message: ReportedMessage,
    limits: ReportLimits,
  ): Promise<AppendedReports> {
    const [row] = await this.database.run(insertReports(reports, message, limits));
    return row ?? { added: 0, refused: 0 };
  }

  async appendFeedback(
    report: NewFeedbackReport,
    { since, ...limits }: Omit<FeedbackLimits, 'sinceId'> & { readonly since: Date },
  ): Promise<Appended> {
    const [row] = await this.database.run(insertFeedbackReport(report, { ...limits, sinceId: firstIdAt(since) }));
    return row?.result ?? 'full';
  }

  /** Returns how many were deleted. */
  async deleteOf(keys: readonly DeliveryKey[], tx: Transaction): Promise<number> {
    const [row] = await tx.run(deleteReportsOf(keys));
    return row?.deleted ?? 0;
  }

  /** Returns how many were deleted. */
  async deleteBefore(time: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldReports(firstIdAt(time), limit))).length;
  }

  /** Returns how many were deleted. @param useless the later bound for what turned out to be no complaint */
  async deleteFeedbackBefore(time: Date, useless: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldFeedback(firstIdAt(time), firstIdAt(useless), limit))).length;
  }

  /** Newest first. */
  async listPublicMail(mailbox: PublicMailbox, limit: number): Promise<PublicMail[]> {
    const rows = await this.feedback.find({ select: MAIL, where: { mailbox }, order: { id: 'DESC' }, take: limit });
    return rows.map(toPublicMail);
  }

  /** With its bytes. */
  async readPublicMail(id: string): Promise<(PublicMail & { raw: Buffer }) | undefined> {
    const row = await this.feedback.findOne({ select: { ...MAIL, raw: true }, where: { id } });
    return row ? { ...toPublicMail(row), raw: row.raw } : undefined;
  }
}

function toPublicMail({ id, mailbox, receivedAt, size, disposition }: FeedbackReport): PublicMail {
  return { id, mailbox, receivedAt, size, disposition };
}

function claimed(table: ReportTable, row: ClaimedRow): ClaimedReport {
  const { id, attempts, receivedAt, raw, mailbox } = row;
  return { table, id, attempts, receivedAt, raw, mailbox, subject: subjectOf(row) };
}

function subjectOf({ organizationId, mode, emailId, position }: ClaimedRow): ReportSubject | undefined {
  if (organizationId === null || mode === null || emailId === null || position === null) return undefined;
  return { organizationId, mode, emailId, position };
}
