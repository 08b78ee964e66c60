import type { Mode } from '../../common/tenant';
import type { EmailKey } from '../../delivery/ports/delivery';

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

/** The first line of what came to an address that unsubscribes. */
export const UNSUBSCRIBE_LINE = 'X-Waybill-Unsubscribe: yes\r\n';

/** What a report turned out to be about: one delivery, or an email of several recipients without a proof of which. */
export type ReportTarget = ReportSubject | (EmailKey & { readonly position?: undefined });

export interface NewInboundReport extends ReportSubject {
  /** Sorts by arrival. */
  readonly id: string;
}

/**
 * Local parts at the mail host that anyone may write to: feedback loops, the two that RFC 5321 section 4.5.1 and RFC 2142 ask
 * for, `dmarc`, which also stands for DMARC_REPORT_ADDRESS, and `tls-reports` (RFC 8460).
 */
export const PUBLIC_MAILBOXES = ['fbl', 'postmaster', 'abuse', 'dmarc', 'tls-reports'] as const;

export type PublicMailbox = (typeof PUBLIC_MAILBOXES)[number];

export interface NewFeedbackReport {
  readonly digest: Buffer;
  /** Sorts by arrival. */
  readonly id: string;
  readonly mailbox: PublicMailbox;
  readonly receivedAt: Date;
  readonly raw: Buffer;
}

/** Where reports wait: those whose address names a delivery, and those that anyone may write. */
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
  /** Undefined for what came to a signed address. */
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
