import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../auth/organizations.service';
import { FairLimit } from '../../common/async/fair-turns';
import { Clock, HOUR } from '../../common/clock';
import { deriveKey } from '../../common/encryption/encryption';
import { NotFoundError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { AppConfig } from '../../config/config';
import type { Transaction } from '../../database/transaction';
import type { DeliveryKey } from '../../delivery/ports/delivery';
import { ReturnPath, type ReturnPathTarget } from '../../delivery/tokens/return-path';
import { InboundLimits } from './inbound-limits';
import {
  PUBLIC_MAILBOXES,
  type PublicMail,
  type PublicMailbox,
  type ReportSubject,
  UNSUBSCRIBE_LINE,
} from './inbound-report.entity';
import { type Appended, type AppendedReports, InboundRepository } from './inbound.repository';

/** Messages at a time: 200 connections that sent some without a pause, refused ones too, took every connection to the database. */
const APPENDED_AT_ONCE = 3;

/** From whom a report comes: of the envelope, and the client's network and that of its owner. Owners take turns. */
export interface ReportSender {
  readonly sender: string;
  readonly network: string;
  readonly owner: string;
}

/**
 * Stored reports on our mail (bounces, complaints): the listener appends them, a worker processes them later.
 *
 * The subject of a report is known from its address alone, whose token only this service can issue; the text is untrusted. Mail
 * to a public mailbox counts only with such a token, or one of our signatures.
 */
@Injectable()
export class InboundService {
  /** While the master key is being changed, mail that left under the other one is still recognized. */
  private readonly returnPaths: readonly ReturnPath[];
  private readonly unsubscribing: readonly ReturnPath[];
  private readonly turns: FairLimit;

  constructor(
    private readonly reports: InboundRepository,
    private readonly organizations: OrganizationsService,
    private readonly limits: InboundLimits,
    private readonly clock: Clock,
    config: AppConfig,
  ) {
    this.turns = new FairLimit(APPENDED_AT_ONCE, { atATime: 1, waiting: limits.maxConnections });
    const keys = [config.masterKey, config.previousMasterKey].filter((key) => key !== undefined);
    this.returnPaths = keys.map((key) => new ReturnPath(deriveKey(key, 'return-path'), clock));
    this.unsubscribing = keys.map((key) => new ReturnPath(deriveKey(key, 'unsubscribe-address'), clock, 'unsubscribe'));
  }

  /**
   * The delivery of a local part; undefined when it is not ours, forged, altered or expired. Only a genuine one makes a query.
   * @throws UnavailableError
   */
  async subjectOf(localPart: string): Promise<ReportSubject | undefined> {
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
   * @param from the envelope's sender is empty for the null sender. It goes on top of the stored bytes as `Return-Path:` (RFC 5321
   * section 4.4): bounces have none, and the parser needs it.
   * @throws UnavailableError
   */
  append(subjects: readonly ReportSubject[], from: ReportSender, message: Buffer): Promise<AppendedReports> {
    const { maxReportsPerDelivery: perDelivery, maxOpenReports: open } = this.limits;
    return this.inTurn(from, () => {
      const { raw, digest } = stored(from.sender, message, subjects[0]?.isUnsubscribe);
      const reports = subjects.map((subject) => ({ ...subject, id: newId() }));
      return this.reports.append(reports, { digest, raw, receivedAt: this.clock.now() }, { perDelivery, open });
    });
  }

  /**
   * Commits a message to a public mailbox, while its limits allow.
   * @throws UnavailableError
   */
  appendFeedback(mailbox: PublicMailbox, from: ReportSender, message: Buffer): Promise<Appended> {
    const { maxFeedbackPerHour: perHour, maxFeedbackInAll: inAll, maxFeedbackOfClient: ofNetwork } = this.limits;
    return this.inTurn(from, () => {
      const receivedAt = this.clock.now();
      const since = new Date(receivedAt.getTime() - HOUR);
      const report = { ...stored(from.sender, message), id: newId(), mailbox, receivedAt, network: from.network };
      return this.reports.appendFeedback(report, { since, perHour, inAll, ofNetwork });
    });
  }

  private inTurn<T>({ owner }: ReportSender, work: () => Promise<T>): Promise<T> {
    return this.turns.run(owner, work);
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

export { PUBLIC_MAILBOXES, type PublicMailbox };
