import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { FairLimit } from '../../common/async/fair-turns';
import { atMost } from '../../common/bounded-cache';
import { Clock, HOUR } from '../../common/clock';
import { BodyBudget } from '../../common/http/request/request-body';
import { clientNetworkOf, ownedNetworkOf } from '../../common/network';
import { receiveMessage } from '../../common/smtp/receive-message';
import { InboundMailService, type RoutedRecipient, type Routing } from '../inbound-mail/inbound-mail.service';
import { InboundLimits, type Volume } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { busy, full, headerTooLong, noRoomLeft, tooLarge, tooManyMessages, tooMuchData } from './smtp-refusal';

/** Recipients at a time: 200 connections that named some without a pause took every connection to the database. */
const LOOK_UPS_AT_ONCE = 2;
/** The share of a limit beyond which owners of networks have shares too. Below it, a large provider may send most of an organization's mail. */
const CONTESTED_FROM = 0.8;

/** Mail to routes on its way through the listener: how much of it is in memory, and how much a client may send. */
@Injectable()
export class RoutedReception {
  /** By organization and route. */
  private readonly inAll: HourlyVolumes;
  /** By client network, and by network and each of these. Many networks displace neither the totals nor the owners. */
  private readonly ofNetworks: HourlyVolumes;
  /** By owner of networks and each of these. */
  private readonly ofOwners: HourlyVolumes;
  private readonly lookUps: FairLimit;

  constructor(
    private readonly mail: InboundMailService,
    private readonly budget: BodyBudget,
    private readonly limits: InboundLimits,
    private readonly metrics: InboundMetrics,
    clock: Clock,
  ) {
    this.inAll = new HourlyVolumes(clock);
    this.ofNetworks = new HourlyVolumes(clock);
    this.ofOwners = new HourlyVolumes(clock);
    this.lookUps = new FairLimit(LOOK_UPS_AT_ONCE, { atATime: 1, waiting: limits.maxConnections });
  }

  get maxMessageBytes(): number {
    return this.mail.maxMessageBytes;
  }

  /** Owners of networks take turns. @throws UnavailableError */
  route(address: string, network: string): Promise<Routing> {
    return this.lookUps.run(ownedNetworkOf(network), () => this.mail.route(address));
  }

  /** Whether a client network may send more to these organizations within this hour. */
  hasTurn(network: string, { routes }: Pick<RoutedRecipient, 'routes'>): boolean {
    const { maxRoutedPerHourOfClient, routedInAll } = this.limits;
    if (this.ofNetworks.of(network).messages >= maxRoutedPerHourOfClient) return false;
    return routes.every(
      ({ organizationId, routeId }) =>
        this.hasShare(network, organizationId, routedInAll.organization) &&
        this.hasShare(network, routeId, routedInAll.route),
    );
  }

  /** However many networks send all they may, one more has room. Of the last fifth, networks of one owner have no more than is left. */
  private hasShare(network: string, id: string, inAll: Volume): boolean {
    const all = this.inAll.of(id);
    const own = this.ofNetworks.of(`${network} ${id}`);
    const left = { messages: inAll.messages - all.messages, bytes: inAll.bytes - all.bytes };
    const isAlone = own.messages === all.messages;
    if (!isLess(own, this.limits.maxRoutedToOrganization) || !(isAlone || isLess(own, left))) return false;
    const contested = { messages: CONTESTED_FROM * inAll.messages, bytes: CONTESTED_FROM * inAll.bytes };
    return isLess(all, contested) || isLess(this.ofOwners.of(`${ownedNetworkOf(network)} ${id}`), left);
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
    this.ofNetworks.add(network, size);
    for (const id of new Set(routes.flatMap(({ organizationId, routeId }) => [organizationId, routeId]))) {
      this.inAll.add(id, size);
      this.ofNetworks.add(`${network} ${id}`, size);
      this.ofOwners.add(`${ownedNetworkOf(network)} ${id}`, size);
    }
  }
}

function isLess(one: Volume, than: Volume): boolean {
  return one.messages < than.messages && one.bytes < than.bytes;
}

const MAX_COUNTS = 50_000;
const NONE: Volume = { messages: 0, bytes: 0 };

/** How much was counted under each name since the hour began. Of more names than are kept, those that were used longest ago are forgotten. */
class HourlyVolumes {
  private readonly volumes = new LRUCache<string, Volume>(atMost(MAX_COUNTS));
  private sinceMs = 0;

  constructor(private readonly clock: Clock) {}

  of(name: string): Volume {
    return this.isOver() ? NONE : (this.volumes.get(name) ?? NONE);
  }

  add(name: string, size: number): void {
    if (this.isOver()) {
      this.volumes.clear();
      this.sinceMs = this.clock.monotonicMs();
    }
    const { messages, bytes } = this.of(name);
    this.volumes.set(name, { messages: messages + 1, bytes: bytes + size });
  }

  private isOver(): boolean {
    return this.clock.monotonicMs() - this.sinceMs > HOUR;
  }
}

export type { RoutedRecipient };
