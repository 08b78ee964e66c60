import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { Clock, HOUR } from '../../../common/clock';
import { deriveKey } from '../../../common/encryption/encryption';
import { NotFoundError } from '../../../common/errors/app-error';
import { newId } from '../../../common/ids';
import { AppConfig } from '../../../config/config';
import type { Transaction } from '../../../database/statements/transaction';
import type { DeliveryKey } from '../../../delivery/ports/delivery';
import { ReturnPath, type ReturnPathTarget } from '../../../delivery/tokens/return-path';
import { readBounceAddress } from './bounce-address';
import {
  APPENDED,
  type Appended,
  PUBLIC_MAILBOXES,
  type PublicMail,
  type PublicMailbox,
  type ReportSubject,
  UNSUBSCRIBE_LINE,
} from './inbound-report.entity';
import { type AppendedReports, InboundReportsRepository } from './inbound-reports.repository';

/** How many reports are stored. */
@Injectable()
export class InboundReportLimits {
  /** Messages to each public mailbox, of all listeners together; more are put off with 452. */
  readonly maxFeedbackPerHour: number = 1_200;
  readonly maxFeedbackInAll: number = 30_000;
  /** Of them from one client network: a third, and beside others no more than it leaves to them. A feedback loop's reports may all come from one. */
  readonly maxFeedbackOfClient: { readonly perHour: number; readonly inAll: number } = { perHour: 400, inAll: 10_000 };
  /** To the return paths of one organization, that wait to be processed; more are put off with 452. */
  readonly maxOpenReports: number = 20_000;
  /** On one delivery, processed ones included: far more than a server that warns every few hours for five days. */
  readonly maxReportsPerDelivery: number = 100;
}

/** From whom a report comes: of the envelope, and the client's network. */
export interface ReportSender {
  /** Empty for the null sender. */
  readonly sender: string;
  readonly network: string;
}

/**
 * Whom mail to an address is for: the recipient of one of our mails (a return path or an unsubscribe address), or a public mailbox.
 * `unknown`: at a host of ours, but there is no such address; `foreign`: elsewhere.
 */
export type Addressee = ReportSubject | { readonly mailbox: PublicMailbox } | 'unknown' | 'foreign';

/**
 * Stored reports on our mail (bounces, complaints): the listener appends them, a worker processes them later.
 *
 * The subject of a report is known from its address alone, whose token only this service can issue; the text is untrusted. Mail
 * to a public mailbox counts only with such a token, or one of our signatures.
 */
@Injectable()
export class InboundReportsService {
  /** While the master key is being changed, mail that left under the other one is still recognized. */
  private readonly returnPaths: readonly ReturnPath[];
  private readonly unsubscribing: readonly ReturnPath[];

  constructor(
    private readonly reports: InboundReportsRepository,
    private readonly organizations: OrganizationsService,
    private readonly limits: InboundReportLimits,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {
    const keys = [config.masterKey, config.previousMasterKey].filter((key) => key !== undefined);
    this.returnPaths = keys.map((key) => new ReturnPath(deriveKey(key, 'return-path'), clock));
    this.unsubscribing = keys.map((key) => new ReturnPath(deriveKey(key, 'unsubscribe-address'), clock, 'unsubscribe'));
  }

  /** Only a genuine token makes a query. @throws UnavailableError */
  async addressee(address: string): Promise<Addressee> {
    const { delivery, dns } = this.config;
    if (address.toLowerCase() === dns.dmarcReportAddress.toLowerCase()) return { mailbox: 'dmarc' };
    const read = readBounceAddress(address, delivery.mailHost);
    if (read.kind === 'public') return { mailbox: read.mailbox };
    return read.kind === 'ours' ? ((await this.subjectOf(read.localPart)) ?? 'unknown') : read.kind;
  }

  /** The delivery of a local part; undefined when it is not ours, forged, altered or expired. */
  private async subjectOf(localPart: string): Promise<ReportSubject | undefined> {
    const returnPath = openWith(this.returnPaths, localPart);
    const target = returnPath ?? openWith(this.unsubscribing, localPart);
    const organizationId = target && (await this.organizations.findByOrdinal(target.organizationOrdinal));
    if (!target || organizationId === undefined) return undefined;
    const { mode, emailId, position } = target;
    return { organizationId, mode, emailId, position, ...(!returnPath && { isUnsubscribe: true }) };
  }

  /**
   * Commits one message as a report on each of the deliveries, all of one kind, for which the limits allow it; returns how many
   * of them are new, and how many were refused. The same message twice is stored once.
   *
   * @param from the envelope's sender goes on top of the stored bytes as `Return-Path:` (RFC 5321
   * section 4.4): bounces have none, and the parser needs it.
   * @throws UnavailableError
   */
  append(subjects: readonly ReportSubject[], from: ReportSender, message: Buffer): Promise<AppendedReports> {
    const { maxReportsPerDelivery: perDelivery, maxOpenReports: open } = this.limits;
    const { raw, digest } = stored(from.sender, message, subjects[0]?.isUnsubscribe);
    const reports = subjects.map((subject) => ({ ...subject, id: newId() }));
    return this.reports.append(reports, { digest, raw, receivedAt: this.clock.now() }, { perDelivery, open });
  }

  /**
   * Commits a message to a public mailbox, while its limits allow.
   * @throws UnavailableError
   */
  appendFeedback(mailbox: PublicMailbox, from: ReportSender, message: Buffer): Promise<Appended> {
    const { maxFeedbackPerHour: perHour, maxFeedbackInAll: inAll, maxFeedbackOfClient: ofNetwork } = this.limits;
    const receivedAt = this.clock.now();
    const since = new Date(receivedAt.getTime() - HOUR);
    const report = { ...stored(from.sender, message), id: newId(), mailbox, receivedAt, network: from.network };
    return this.reports.appendFeedback(report, { since, perHour, inAll, ofNetwork });
  }

  /** Mail to a public mailbox, newest first. @throws UnavailableError */
  listPublicMail(mailbox: PublicMailbox, limit: number): Promise<PublicMail[]> {
    return this.reports.listPublicMail(mailbox, limit);
  }

  /** With its untrusted bytes. @throws NotFoundError, UnavailableError */
  async readPublicMail(id: string): Promise<PublicMail & { raw: Buffer }> {
    const mail = await this.reports.readPublicMail(id);
    if (!mail) throw new NotFoundError('Message');
    return mail;
  }

  /**
   * Deletes what receiving servers have reported on deliveries whose recipients are erased, unprocessed reports included.
   * @returns how many reports there were
   */
  async erase(deliveries: readonly DeliveryKey[], tx: Transaction): Promise<number> {
    return deliveries.length === 0 ? 0 : this.reports.deleteOf(deliveries, tx);
  }
}

function openWith(paths: readonly ReturnPath[], localPart: string): ReturnPathTarget | undefined {
  return paths.map((path) => path.open(localPart)).find((found) => found !== undefined);
}

/** Marks mail to an unsubscribe address above all other fields, where only this listener writes. */
function stored(sender: string, message: Buffer, isUnsubscribe = false): { raw: Buffer; digest: Buffer } {
  const top = `${isUnsubscribe ? UNSUBSCRIBE_LINE : ''}Return-Path: <${sender}>\r\n`;
  const raw = Buffer.concat([Buffer.from(top), message]);
  return { raw, digest: createHash('sha256').update(raw).digest() };
}

export { APPENDED, PUBLIC_MAILBOXES };
export type { Appended, PublicMailbox, ReportSubject };
