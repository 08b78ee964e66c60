import { Injectable } from '@nestjs/common';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { Clock, HOUR } from '../../common/clock';
import { clientNetworkOf } from '../../common/http/client-address';
import { BodyBudget } from '../../common/http/request-body';
import { receiveMessage } from '../../common/smtp/receive-message';
import { InboundMailService, type RoutedRecipient, type Routing } from '../inbound-mail/inbound-mail.service';
import { InboundLimits, type Volume } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { busy, full, headerTooLong, noRoomLeft, tooLarge, tooManyMessages, tooMuchData } from './smtp-refusal';

/** Counts that are kept; beyond it they start again. */
const MAX_COUNTS = 50_000;

/** Mail to routes on its way through the listener: how much of it is in memory, and how much a client may send. */
@Injectable()
export class RoutedReception {
  /** By client network, organization and route, and by network and each of the others, since `countedSinceMs`. */
  private readonly counts = new Map<string, Volume>();
  private countedSinceMs = 0;

  constructor(
    private readonly mail: InboundMailService,
    private readonly budget: BodyBudget,
    private readonly limits: InboundLimits,
    private readonly metrics: InboundMetrics,
    private readonly clock: Clock,
  ) {}

  get maxMessageBytes(): number {
    return this.mail.maxMessageBytes;
  }

  /** @throws UnavailableError */
  route(address: string): Promise<Routing> {
    return this.mail.route(address);
  }

  /** Whether a client network may send more to these organizations within this hour. */
  hasTurn(network: string, { routes }: Pick<RoutedRecipient, 'routes'>): boolean {
    if (this.isOver()) return true;
    const { maxRoutedPerHourOfClient, routedInAll } = this.limits;
    if (this.sent(network).messages >= maxRoutedPerHourOfClient) return false;
    return routes.every(
      ({ organizationId, routeId }) =>
        this.hasShare(network, organizationId, routedInAll.organization) &&
        this.hasShare(network, routeId, routedInAll.route),
    );
  }

  /** However many networks send all they may, one more has room. */
  private hasShare(network: string, id: string, inAll: Volume): boolean {
    const { maxRoutedToOrganization: most } = this.limits;
    const own = this.sent(`${network} ${id}`);
    const all = this.sent(id);
    if (own.messages >= most.messages || own.bytes >= most.bytes) return false;
    const isAlone = own.messages === all.messages;
    return isAlone || (own.messages < inAll.messages - all.messages && own.bytes < inAll.bytes - all.bytes);
  }

  /**
   * Passes a message, or its first part, to `use` when it is complete.
   * @throws SmtpRefusal, or the stream's error when the client has closed
   */
  collect(
    stream: SMTPServerDataStream,
    { remoteAddress }: SMTPServerSession,
    keptBytes: number,
    use: (message: Buffer) => Promise<void>,
  ): Promise<void> {
    const { maxDataBytes } = this.limits;
    const reception = {
      memory: this.budget,
      holder: clientNetworkOf(remoteAddress),
      limits: { maxBytes: this.maxMessageBytes, maxDataBytes, keptBytes },
      expectedBytes: 0,
      refusals: { tooLarge, farTooLarge: tooMuchData, noRoom: busy },
    };
    return receiveMessage(stream, reception, use);
  }

  /** Commits a copy for each route. @throws SmtpRefusal when one has no capacity, UnavailableError */
  async take(message: Buffer, recipients: readonly RoutedRecipient[], session: SMTPServerSession): Promise<void> {
    const { remoteAddress, hostNameAppearsAs, envelope } = session;
    const network = clientNetworkOf(remoteAddress);
    const routes = recipients.flatMap((recipient) => recipient.routes);
    if (!this.hasTurn(network, { routes })) throw tooManyMessages();
    this.countOne(network, routes, message.length);
    if (!this.mail.hasBoundedHeader(message)) throw headerTooLong();
    const sender = envelope.mailFrom ? envelope.mailFrom.address : '';
    const client = { address: remoteAddress.replace(/^::ffff:/, ''), helo: hostNameAppearsAs || '', network, sender };
    const results = await this.mail.take(message, recipients, client);
    for (const result of results) this.metrics.countRouted(result);
    // The client sends it again for all of them; stored copies are recognised then.
    if (results.includes('no_room')) throw noRoomLeft();
    if (results.includes('full')) throw full();
  }

  private countOne(network: string, routes: RoutedRecipient['routes'], size: number): void {
    if (this.isOver()) {
      this.counts.clear();
      this.countedSinceMs = this.clock.monotonicMs();
    }
    const ids = new Set(routes.flatMap(({ organizationId, routeId }) => [organizationId, routeId]));
    for (const key of [network, ...[...ids].flatMap((id) => [id, `${network} ${id}`])]) {
      const { messages, bytes } = this.sent(key);
      this.counts.set(key, { messages: messages + 1, bytes: bytes + size });
    }
  }

  private sent(key: string): Volume {
    return this.counts.get(key) ?? { messages: 0, bytes: 0 };
  }

  private isOver(): boolean {
    return this.clock.monotonicMs() - this.countedSinceMs > HOUR || this.counts.size >= MAX_COUNTS;
  }
}

export type { RoutedRecipient };
