import { Injectable, Logger } from '@nestjs/common';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { reasonOf } from '../../common/errors/app-error';
import { DiskFullError, DiskSpace } from '../../common/disk-space';
import { clientNetworkOf, ownedNetworkOf } from '../../common/network';
import { AppConfig } from '../../config/config';
import { readBounceAddress } from './bounce-address';
import { copiesFor, type Destination, kindOf } from './inbound-destination';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { PUBLIC_MAILBOXES, type PublicMailbox, type ReportSubject } from './inbound-report.entity';
import { type ReportSender, InboundService } from './inbound.service';
import { RoutedReception } from './routed-reception';
import {
  full,
  noRoom,
  relayDenied,
  SmtpRefusal,
  tooLarge,
  tooManyCopies,
  tooManyMessages,
  tooManyRefusals,
  unavailable,
  unknownAddress,
} from './smtp-refusal';

/**
 * What the listener replies to MAIL, RCPT and the end of data. Only our own return paths, the public mailboxes and the inbound
 * routes of organizations are recipients; the first two keep their meaning whatever routes there are. A message gets 250 once
 * it is committed, also if that was before.
 */
@Injectable()
export class InboundReception {
  private readonly logger = new Logger(InboundReception.name);
  /** By the address object of the session's envelope, so that a reset transaction forgets them by itself. */
  private readonly destinations = new WeakMap<SMTPServerAddress, Destination>();
  private readonly refusals = new WeakMap<SMTPServerSession, number>();

  constructor(
    private readonly inbound: InboundService,
    private readonly routed: RoutedReception,
    private readonly limits: InboundLimits,
    private readonly metrics: InboundMetrics,
    private readonly config: AppConfig,
    private readonly disk: DiskSpace,
  ) {}

  get maxMessageBytes(): number {
    return this.routed.maxMessageBytes;
  }

  /**
   * Returns whether the client has shown that it knows an address: a public mailbox is known to all.
   * @throws SmtpRefusal for any address but a genuine return path, a public mailbox or one that a route takes
   */
  async admit(address: SMTPServerAddress, session: SMTPServerSession): Promise<boolean> {
    try {
      this.disk.assertRoom();
      const destination = await this.destinationOf(address.address, session);
      const others = this.destinationsOf(session);
      if (others.some((other) => kindOf(other) !== kindOf(destination))) throw tooManyCopies();
      if (copiesFor([...others, destination]) > this.limits.maxCopies) throw tooManyCopies();
      this.destinations.set(address, destination);
      return kindOf(destination) !== 'public';
    } catch (error) {
      throw this.counted(error instanceof SmtpRefusal ? this.refusalIn(session, error) : this.outage(error));
    }
  }

  /** Reads the message to its end and commits it. @throws SmtpRefusal, or the stream's error when the client has closed */
  async receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const destinations = this.destinationsOf(session);
    try {
      await this.routed.collect(stream, session, this.keptOf(destinations), (message) =>
        this.commit(message, destinations, session),
      );
    } catch (error) {
      throw error instanceof SmtpRefusal ? this.counted(error) : error;
    }
  }

  private destinationsOf({ envelope }: SMTPServerSession): Destination[] {
    return envelope.rcptTo.flatMap((address) => this.destinations.get(address) ?? []);
  }

  private async commit(message: Buffer, destinations: readonly Destination[], session: SMTPServerSession) {
    const { mailFrom } = session.envelope;
    const network = clientNetworkOf(session.remoteAddress);
    const routes = destinations.filter((destination) => 'routes' in destination);
    try {
      await this.disk.take({ bytes: message.length }, async () => {
        const client = { sender: mailFrom ? mailFrom.address : '', network, owner: ownedNetworkOf(network) };
        await this.takeOwn(destinations, client, message);
        if (routes.length > 0) await this.routed.take(message, routes, session);
      });
    } catch (error) {
      throw error instanceof SmtpRefusal ? error : this.outage(error);
    }
  }

  /** The cause stands before the copy of our mail (RFC 3462, RFC 5965), which may be of any size. */
  private keptOf(destinations: readonly Destination[]): number {
    return destinations.some((to) => 'routes' in to) ? this.maxMessageBytes : this.limits.keptReportBytes;
  }

  /** Bounces and complaints. */
  private async takeOwn(destinations: readonly Destination[], client: ReportSender, message: Buffer): Promise<void> {
    const subjects = destinations.filter((destination) => 'emailId' in destination);
    const mailbox = PUBLIC_MAILBOXES.find((name) => destinations.some((to) => 'mailbox' in to && to.mailbox === name));
    if (mailbox) await this.takeFeedback(mailbox, client, message);
    if (subjects.length > 0) await this.takeReports(subjects, client, message);
  }

  private async takeReports(subjects: readonly ReportSubject[], client: ReportSender, message: Buffer): Promise<void> {
    let refusals = 0;
    for (const kind of [true, false]) {
      const alike = subjects.filter(({ isUnsubscribe = false }) => isUnsubscribe === kind);
      if (alike.length === 0) continue;
      const { added, refused } = await this.inbound.append(alike, client, message);
      this.metrics.countReports(added, alike.length - added - refused);
      refusals += refused;
    }
    // The client sends it again for all of them; stored copies are recognised then.
    if (refusals > 0) throw full();
  }

  /** Once, to whichever of the mailboxes it is addressed. */
  private async takeFeedback(mailbox: PublicMailbox, client: ReportSender, message: Buffer): Promise<void> {
    const { maxFeedbackBytes } = this.limits;
    // People and packed reports would lose by it.
    if (mailbox !== 'fbl' && message.length > maxFeedbackBytes) throw tooLarge();
    const result = await this.inbound.appendFeedback(mailbox, client, message.subarray(0, maxFeedbackBytes));
    this.metrics.countFeedback(mailbox, result);
    if (result === 'share') throw tooManyMessages();
    if (result === 'full') throw full();
  }

  private async destinationOf(address: string, session: SMTPServerSession): Promise<Destination> {
    if (address.toLowerCase() === this.config.dns.dmarcReportAddress.toLowerCase()) return { mailbox: 'dmarc' };
    const bounce = readBounceAddress(address, this.config.delivery.mailHost);
    if (bounce.kind === 'foreign') return this.routeOf(address, session);
    if (bounce.kind === 'public') return { mailbox: bounce.mailbox };
    const subject = bounce.kind === 'ours' ? await this.inbound.subjectOf(bounce.localPart) : undefined;
    if (!subject) throw unknownAddress();
    return subject;
  }

  /** Without a route of its own, `postmaster` of a host with routes is the operator's, who runs the server. */
  private async routeOf(address: string, { remoteAddress }: SMTPServerSession): Promise<Destination> {
    const network = clientNetworkOf(remoteAddress);
    const routing = await this.routed.route(address, network);
    if (routing === 'postmaster') return { mailbox: 'postmaster' };
    if (routing === 'foreign') throw relayDenied();
    if (routing === 'unknown') throw unknownAddress();
    if (!this.routed.hasTurn(network, routing)) throw tooManyMessages();
    return routing;
  }

  /** The refusal itself, or the end of the connection for a client that has collected too many. */
  private refusalIn(session: SMTPServerSession, refusal: SmtpRefusal): SmtpRefusal {
    // Who is to come again, or with fewer recipients, has not guessed.
    if (refusal.responseCode !== 550) return refusal;
    const count = (this.refusals.get(session) ?? 0) + 1;
    this.refusals.set(session, count);
    return count > this.limits.maxRefusals ? tooManyRefusals() : refusal;
  }

  private outage(error: unknown): SmtpRefusal {
    if (error instanceof DiskFullError) return noRoom();
    this.logger.warn(`A report could not be taken: ${reasonOf(error)}`);
    return unavailable();
  }

  private counted(refusal: SmtpRefusal): SmtpRefusal {
    this.metrics.countRefusal(refusal.reason);
    return refusal;
  }
}
