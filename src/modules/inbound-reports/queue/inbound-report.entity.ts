import { Column, Entity, PrimaryColumn, VirtualColumn } from 'typeorm';
import type { Mode } from '../../../common/tenant';
import type { EmailKey } from '../../../delivery/ports/delivery';

/** The delivery that a report is about, as its return path named it. */
export interface ReportSubject {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly emailId: string;
  /** Position among the email's recipients. */
  readonly position: number;
  /** True: the address unsubscribes, whatever is written to it. */
  readonly isUnsubscribe?: boolean;
}

/** The first line of mail to an unsubscribe address. */
export const UNSUBSCRIBE_LINE = 'X-Waybill-Unsubscribe: yes\r\n';

/** What a report turned out to be about: one delivery, or an email of several recipients without a proof of which. */
export type ReportTarget = ReportSubject | (EmailKey & { readonly position?: undefined });

export interface NewInboundReport extends ReportSubject {
  /** Sorts by arrival. */
  readonly id: string;
}

/**
 * Public local parts at the mail host: feedback loops, the two required by RFC 5321 section 4.5.1 and RFC 2142, `dmarc`, which
 * also stands for DMARC_REPORT_ADDRESS, and `tls-reports` (RFC 8460).
 */
export const PUBLIC_MAILBOXES = ['fbl', 'postmaster', 'abuse', 'dmarc', 'tls-reports'] as const;

export type PublicMailbox = (typeof PUBLIC_MAILBOXES)[number];

/** `full`: there are too many in the mailbox; `share`: too many of the network; neither is stored. */
export const APPENDED = ['new', 'duplicate', 'full', 'share'] as const;

export type Appended = (typeof APPENDED)[number];

export interface NewFeedbackReport {
  readonly digest: Buffer;
  /** Sorts by arrival. */
  readonly id: string;
  readonly mailbox: PublicMailbox;
  readonly receivedAt: Date;
  readonly raw: Buffer;
  /** Of the client (`clientNetworkOf`). */
  readonly network: string;
}

/** Where reports wait: those whose address names a delivery, and those to public mailboxes. */
export type ReportTable = 'inbound_reports' | 'feedback_reports';

/** A report that this worker has to itself for a while. */
export interface ClaimedReport {
  readonly table: ReportTable;
  readonly id: string;
  /** 1 for the first time; also the fencing token of the claim. */
  readonly attempts: number;
  readonly receivedAt: Date;
  readonly raw: Buffer;
  /** Unknown in mail to a public mailbox. */
  readonly subject: ReportSubject | undefined;
  /** Undefined for mail to a signed address. */
  readonly mailbox: PublicMailbox | undefined;
}

/** Mail to a public mailbox, as the operator lists it. */
export interface PublicMail {
  readonly id: string;
  readonly mailbox: PublicMailbox;
  readonly receivedAt: Date;
  /** Bytes, the Return-Path line included. */
  readonly size: number;
  /** What it turned out to be; null until it has been read. */
  readonly disposition: string | null;
}

/** Mail to a public mailbox. Rows are written by statements (sql/); the operator reads them here. */
@Entity('feedback_reports')
export class FeedbackReport {
  /** SHA-256 of the stored bytes: the same message twice is one row. */
  @PrimaryColumn('bytea') digest!: Buffer;
  /** Sorts by arrival. */
  @Column('uuid') id!: string;
  @Column('text') mailbox!: PublicMailbox;
  @Column('timestamptz', { name: 'received_at' }) receivedAt!: Date;
  /** Of the client; null in rows from before it was kept. */
  @Column('text', { nullable: true }) network!: string | null;
  /** Empty once a report to `fbl` has been processed; read for one message at a time only. */
  @Column('bytea', { select: false }) raw!: Buffer;
  @VirtualColumn('integer', { query: (alias) => `octet_length(${alias}.raw)` }) size!: number;
  @Column('smallint') attempts!: number;
  @Column('timestamptz', { name: 'claimed_until', nullable: true }) claimedUntil!: Date | null;
  @Column('timestamptz', { name: 'processed_at', nullable: true }) processedAt!: Date | null;
  /** What it turned out to be; null until it has been processed. */
  @Column('text', { nullable: true }) disposition!: string | null;
  /** The delivery that it is about, once identified. */
  @Column('uuid', { name: 'organization_id', nullable: true }) organizationId!: string | null;
  @Column('text', { nullable: true }) mode!: Mode | null;
  @Column('uuid', { name: 'email_id', nullable: true }) emailId!: string | null;
  @Column('smallint', { nullable: true }) position!: number | null;
}

/** A report that came to a return path, on the delivery that the path names. Rows are written by statements (sql/). */
@Entity('inbound_reports')
export class InboundReport {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('smallint') position!: number;
  /** SHA-256 of the stored bytes: the same message twice is one report. */
  @PrimaryColumn('bytea') digest!: Buffer;
  /** Sorts by arrival. */
  @Column('uuid') id!: string;
  @Column('timestamptz', { name: 'received_at' }) receivedAt!: Date;
  /** Empty once the report has been processed. */
  @Column('bytea', { select: false }) raw!: Buffer;
  @Column('smallint') attempts!: number;
  @Column('timestamptz', { name: 'claimed_until', nullable: true }) claimedUntil!: Date | null;
  @Column('timestamptz', { name: 'processed_at', nullable: true }) processedAt!: Date | null;
  /** What it turned out to be; null until it has been processed. */
  @Column('text', { nullable: true }) disposition!: string | null;
}
