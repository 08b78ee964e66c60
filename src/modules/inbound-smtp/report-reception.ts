import { Injectable } from '@nestjs/common';
import type { SMTPServerSession } from 'smtp-server';
import { FairLimit } from '../../common/async/fair-turns';
import { clientNetworkOf, ownedNetworkOf } from '../../common/network';
import {
  type Addressee,
  InboundReportsService,
  PUBLIC_MAILBOXES,
  type PublicMailbox,
  type ReportSender,
  type ReportSubject,
} from '../inbound-reports/queue/inbound-reports.service';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { full, tooLarge, tooManyMessages } from './smtp-refusal';

/** Messages at a time: 200 connections that sent some without a pause, refused ones too, took every connection to the database. */
const STORED_AT_ONCE = 3;

/** What the reports' own addresses are given: return paths, unsubscribe addresses and public mailboxes. */
export type ReportAddressee = Exclude<Addressee, string>;

/** Bounces, complaints and mail to public mailboxes on their way through the listener. */
@Injectable()
export class ReportReception {
  private readonly turns: FairLimit;

  constructor(
    private readonly reports: InboundReportsService,
    private readonly limits: InboundLimits,
    private readonly metrics: InboundMetrics,
  ) {
    this.turns = new FairLimit(STORED_AT_ONCE, { atATime: 1, waiting: limits.maxConnections });
  }

  /** @throws UnavailableError */
  addressee(address: string): Promise<Addressee> {
    return this.reports.addressee(address);
  }

  /** Commits a report for each recipient. @throws SmtpRefusal when one has no capacity, UnavailableError */
  async take(
    message: Buffer,
    addressees: readonly ReportAddressee[],
    { envelope, remoteAddress }: SMTPServerSession,
  ): Promise<void> {
    const network = clientNetworkOf(remoteAddress);
    const sender = envelope.mailFrom ? envelope.mailFrom.address : '';
    const from = { sender, network, owner: ownedNetworkOf(network) };
    const subjects = addressees.filter((to) => 'emailId' in to);
    // Once, to whichever of the mailboxes it is addressed.
    const mailbox = PUBLIC_MAILBOXES.find((name) => addressees.some((to) => 'mailbox' in to && to.mailbox === name));
    if (mailbox) await this.takeFeedback(mailbox, from, message);
    if (subjects.length > 0) await this.takeReports(subjects, from, message);
  }

  private async takeReports(subjects: readonly ReportSubject[], from: Client, message: Buffer): Promise<void> {
    let refusals = 0;
    for (const kind of [true, false]) {
      const alike = subjects.filter(({ isUnsubscribe = false }) => isUnsubscribe === kind);
      if (alike.length === 0) continue;
      const store = () => this.reports.append(alike, from, message);
      const { added, refused } = await this.turns.run(from.owner, store);
      this.metrics.countReports(added, alike.length - added - refused);
      refusals += refused;
    }
    // The client sends it again for all of them; stored copies are recognised then.
    if (refusals > 0) throw full();
  }

  private async takeFeedback(mailbox: PublicMailbox, from: Client, message: Buffer): Promise<void> {
    const { maxFeedbackBytes } = this.limits;
    // People and packed reports would lose by it.
    if (mailbox !== 'fbl' && message.length > maxFeedbackBytes) throw tooLarge();
    const store = () => this.reports.appendFeedback(mailbox, from, message.subarray(0, maxFeedbackBytes));
    const result = await this.turns.run(from.owner, store);
    this.metrics.countFeedback(mailbox, result);
    if (result === 'share') throw tooManyMessages();
    if (result === 'full') throw full();
  }
}

/** From whom a report comes; owners of networks take turns. */
type Client = ReportSender & { readonly owner: string };
