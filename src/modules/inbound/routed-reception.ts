import { Injectable } from '@nestjs/common';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { Clock, HOUR } from '../../common/clock';
import { clientNetworkOf } from '../../common/http/client-address';
import { BodyBudget } from '../../common/http/request-body';
import { receiveMessage } from '../../common/smtp/receive-message';
import { InboundMailService, type RoutedRecipient, type Routing } from '../inbound-mail/inbound-mail.service';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { busy, full, headerTooLong, noRoomLeft, tooLarge, tooManyMessages, tooMuchData } from './smtp-refusal';

/** Counts that are kept; beyond it they start again. */
const MAX_COUNTS = 50_000;

interface Sent {
  readonly messages: number;
  readonly bytes: number;
}

/** Mail to routes on its way through the listener: how much of it is in memory, and how much a client may send. */
@Injectable()
export class RoutedReception {
  /** By client network, and by network and organization, since `countedSinceMs`. */
  private readonly counts = new Map<string, Sent>();
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

  /** Before the first message. */
  prepare(): Promise<void> {
    return this.mail.prepare();
  }

  /** @throws UnavailableError */
  route(address: string): Promise<Routing> {
    return this.mail.route(address);
  }

  /** Whether a client network may send more to these organizations within this hour. */
  hasTurn(network: string, { routes }: Pick<RoutedRecipient, 'routes'>): boolean {
    if (this.isOver()) return true;
    const { maxRoutedPerHourOfClient, maxRoutedToOrganization: most } = this.limits;
    if (this.sent(network).messages >= maxRoutedPerHourOfClient) return false;
    return routes.every(({ organizationId }) => {
      const { messages, bytes } = this.sent(`${network} ${organizationId}`);
      return messages < most.messages && bytes < most.bytes;
    });
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
    const organizations = new Set(routes.map(({ organizationId }) => `${network} ${organizationId}`));
    for (const key of [network, ...organizations]) {
      const { messages, bytes } = this.sent(key);
      this.counts.set(key, { messages: messages + 1, bytes: bytes + size });
    }
  }

  private sent(key: string): Sent {
    return this.counts.get(key) ?? { messages: 0, bytes: 0 };
  }

  private isOver(): boolean {
    return this.clock.monotonicMs() - this.countedSinceMs > HOUR || this.counts.size >= MAX_COUNTS;
  }
}

export type { RoutedRecipient };
