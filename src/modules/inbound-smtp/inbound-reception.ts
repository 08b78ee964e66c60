import { Injectable, Logger } from '@nestjs/common';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { DiskFullError, DiskSpace } from '../../common/disk-space';
import { reasonOf } from '../../common/errors/app-error';
import { clientNetworkOf } from '../../common/network';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { type ReportAddressee, ReportReception } from './report-reception';
import { type RoutedRecipient, RoutedReception } from './routed-reception';
import {
  noRoom,
  relayDenied,
  SmtpRefusal,
  tooManyCopies,
  tooManyMessages,
  tooManyRefusals,
  unavailable,
  unknownAddress,
} from './smtp-refusal';

/** What a recipient stands for: a return path of ours, a mailbox that anyone may write to, or the routes of organizations. */
type Destination = ReportAddressee | RoutedRecipient;

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
    private readonly reports: ReportReception,
    private readonly routed: RoutedReception,
    private readonly limits: InboundLimits,
    private readonly metrics: InboundMetrics,
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
    const routes = destinations.filter((to) => 'routes' in to);
    const ours = destinations.filter((to): to is ReportAddressee => !('routes' in to));
    try {
      await this.disk.take({ bytes: message.length }, async () => {
        if (ours.length > 0) await this.reports.take(message, ours, session);
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

  private async destinationOf(address: string, session: SMTPServerSession): Promise<Destination> {
    const addressee = await this.reports.addressee(address);
    if (addressee === 'foreign') return this.routeOf(address, session);
    if (addressee === 'unknown') throw unknownAddress();
    return addressee;
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

/** A message is taken for recipients of one kind: what one kind refuses at the end of the data must not refuse the others. */
function kindOf(destination: Destination): 'public' | 'routed' | 'report' {
  if ('mailbox' in destination) return 'public';
  return 'routes' in destination ? 'routed' : 'report';
}

/** How many copies of a message are stored. */
function copiesFor(destinations: readonly Destination[]): number {
  const copies = (to: Destination): unknown[] => ('routes' in to ? to.routes.map(({ routeId }) => routeId) : [to]);
  return new Set(destinations.flatMap(copies)).size;
}
