import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/statements/transaction';
import { ReplyClassifier } from '../../../delivery/policy/replies/classify-reply';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { RecordedOutcome } from '../../../delivery/ports/outcome';
import { DmarcReportsService, TlsReportsService } from '../../domains/aggregate-reports/aggregate-reports.service';
import { EmailLookupService, type ReportedRecipient } from '../../emails/email-lookup.service';
import type { EmailComplaint } from '../../emails/outcomes/outcome-recorder.service';
import { addressKey } from '../../../common/mail-address';
import { decideOutcome, ofMember, type ReportDecision, type ReportedOutcome, UNSUBSCRIPTION } from './decide-outcome';
import { FeedbackIdentification, type Identified } from './feedback-identification.service';
import { type ClaimedReport, type ReportTarget, UNSUBSCRIBE_LINE } from '../queue/inbound-report.entity';
import { isPlausible, readDmarcReport } from '../parsing/dmarc-report';
import { parseReportInTurns } from '../parsing/parse-report';
import type { Report } from '../parsing/report';
import { readTlsReport } from '../parsing/tls-report';

/** What a report turned out to be, and what is to be recorded because of it. */
export interface Finding {
  readonly disposition: string;
  readonly subject?: ReportTarget;
  readonly outcome?: RecordedOutcome;
  /** Of an email of several recipients, without a proof of which of them. */
  readonly complaint?: EmailComplaint;
  /** Stores what an aggregate report (DMARC, TLS) says of our domains. */
  readonly record?: (tx: Transaction) => Promise<void>;
}

/** A report that was taken up so often and never ended has probably brought down its workers. */
const MAX_ATTEMPTS = 5;

/** Reads a report and finds out what it is about. It changes nothing. */
@Injectable()
export class ReportExaminer {
  constructor(
    private readonly emails: EmailLookupService,
    private readonly feedback: FeedbackIdentification,
    private readonly classifier: ReplyClassifier,
    private readonly dmarc: DmarcReportsService,
    private readonly tls: TlsReportsService,
  ) {}

  /** @throws UnavailableError */
  async examine(claimed: ClaimedReport): Promise<Finding> {
    if (claimed.attempts > MAX_ATTEMPTS) return { disposition: 'abandoned' };
    if (claimed.subject && isUnsubscribe(claimed.raw)) return this.findingOn(claimed, claimed.subject, UNSUBSCRIPTION);
    const report = await read(claimed.raw, this.classifier);
    const decision = decideOutcome(report);
    if (claimed.subject) return this.findingOn(claimed, claimed.subject, decision);
    if (report.kind !== 'complaint') return this.findingWithoutRecipient(claimed, report);
    const found: Identified = await this.feedback.identify(report.original);
    return typeof found === 'string' ? { disposition: found } : this.findingOn(claimed, found, decision);
  }

  /** What anybody may write is unpacked at its own address only: that bounds what it costs. */
  private async findingWithoutRecipient({ raw, receivedAt, mailbox }: ClaimedReport, report: Report): Promise<Finding> {
    if (mailbox === 'tls-reports') {
      return (await this.findingOnTls(raw, receivedAt)) ?? { disposition: publicDisposition(report) };
    }
    const said = mailbox === 'dmarc' ? await readDmarcReport(raw) : undefined;
    if (!said) return { disposition: publicDisposition(report) };
    if (!isPlausible(said, receivedAt)) return { disposition: 'ignored:dmarc-time' };
    const shares = await this.dmarc.sharesOf(said);
    if (shares.length === 0) return { disposition: 'ignored:dmarc-domain' };
    return { disposition: 'dmarc', record: (tx) => this.dmarc.record(shares, tx) };
  }

  private async findingOnTls(raw: Buffer, receivedAt: Date): Promise<Finding | undefined> {
    const said = await readTlsReport(raw);
    if (!said) return undefined;
    if (!isPlausible(said, receivedAt)) return { disposition: 'ignored:tls-report-time' };
    const shares = await this.tls.sharesOf(said);
    if (shares.length === 0) return { disposition: 'ignored:tls-report-domain' };
    return { disposition: 'tls-report', record: (tx) => this.tls.record(shares, tx) };
  }

  /** The recipient is that of our own row, whatever addresses the report has. */
  private async findingOn(claimed: ClaimedReport, subject: ReportTarget, decision: ReportDecision): Promise<Finding> {
    const { outcome } = decision;
    if (!outcome) return { disposition: decision.disposition, subject };
    if (subject.position === undefined) return this.findingOnEmail(claimed, subject, outcome.event);
    const email = await this.emails.findReported(subject);
    const recipient = email?.recipients.find(({ position }) => position === subject.position);
    if (!email || !recipient) return { disposition: 'unknown-email', subject };
    const isOfMember = decision.expanded === addressKey(recipient.address);
    const event = isOfMember ? ofMember(outcome.event) : outcome.event;
    if (await this.isKnown(event, recipient, subject)) return { disposition: 'duplicate', subject };
    const recorded: RecordedOutcome = {
      ...subject,
      domainId: email.domainId,
      recipient: recipient.address,
      outcome: event,
      source: outcome.source,
      occurredAt: claimed.receivedAt,
    };
    return { disposition: isOfMember ? 'soft_bounce' : decision.disposition, subject, outcome: recorded };
  }

  /**
   * The same news in other words. But that an address is bad may be news although the bounce is not; and that its owner wants no mail is
   * news once the address has been taken off the suppression list.
   */
  private async isKnown(event: ReportedOutcome, recipient: ReportedRecipient, owner: EmailKey): Promise<boolean> {
    if (!recipient.has(event.kind)) return false;
    if (event.kind === 'bounced') return !event.suppress;
    return event.kind === 'delivered' || this.emails.isListedBy(event.kind, owner, recipient.address);
  }

  private async findingOnEmail(
    { receivedAt: occurredAt }: ClaimedReport,
    subject: EmailKey,
    event: ReportedOutcome,
  ): Promise<Finding> {
    if (event.kind !== 'spam_report') return { disposition: 'unidentified', subject };
    if (await this.emails.hasComplaint(subject)) return { disposition: 'duplicate', subject };
    return { disposition: event.kind, subject, complaint: { ...subject, occurredAt, data: event.data ?? {} } };
  }
}

function isUnsubscribe(raw: Buffer): boolean {
  return raw.subarray(0, UNSUBSCRIBE_LINE.length).equals(Buffer.from(UNSUBSCRIBE_LINE));
}

function read(raw: Buffer, classifier: ReplyClassifier): Promise<Report> {
  return parseReportInTurns(raw, classifier).catch((): Report => ({ kind: 'ignored', reason: 'unreadable' }));
}

/** A bounce without a token concerns no delivery: it may be forged. */
function publicDisposition(report: Report): string {
  return report.kind === 'ignored' ? `ignored:${report.reason}` : 'unidentified';
}
