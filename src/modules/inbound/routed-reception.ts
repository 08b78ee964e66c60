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

/** Clients that are counted; beyond it the count starts again. */
const MAX_CLIENTS = 10_000;

/** Mail to routes on its way through the listener: how much of it is in memory, and how much a client may send. */
@Injectable()
export class RoutedReception {
  /** Messages by client network since `countedSinceMs`. */
  private readonly messagesOf = new Map<string, number>();
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

  /** Whether a client may send more within this hour. */
  hasTurn(client: string): boolean {
    return (this.messagesOf.get(client) ?? 0) < this.limits.maxRoutedPerHourOfClient || this.isOver();
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
    if (!this.countOne(network)) throw tooManyMessages();
    if (!this.mail.hasBoundedHeader(message)) throw headerTooLong();
    const sender = envelope.mailFrom ? envelope.mailFrom.address : '';
    const client = { address: remoteAddress.replace(/^::ffff:/, ''), helo: hostNameAppearsAs || '', network, sender };
    const results = await this.mail.take(message, recipients, client);
    for (const result of results) this.metrics.countRouted(result);
    // The client sends it again for all of them; stored copies are recognised then.
    if (results.includes('no_room')) throw noRoomLeft();
    if (results.includes('full')) throw full();
  }

  private countOne(client: string): boolean {
    if (this.isOver()) {
      this.messagesOf.clear();
      this.countedSinceMs = this.clock.monotonicMs();
    }
    const count = this.messagesOf.get(client) ?? 0;
    if (count >= this.limits.maxRoutedPerHourOfClient) return false;
    this.messagesOf.set(client, count + 1);
    return true;
  }

  private isOver(): boolean {
    return this.clock.monotonicMs() - this.countedSinceMs > HOUR || this.messagesOf.size >= MAX_CLIENTS;
  }
}

export type { RoutedRecipient };
