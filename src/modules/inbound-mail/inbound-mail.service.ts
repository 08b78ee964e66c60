import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { addressKey } from '../../common/mail-address';
import { AppConfig } from '../../config/config';
import { AuthenticationService, type Client } from './authentication.service';
import type { InboundCapacity, InboundEmailData, MailMark, NewInboundEmail, RouteMatch, Stored } from './inbound-email';
import { InboundEmailsRepository } from './inbound-emails.repository';
import { InboundMailLimits } from './inbound-mail-limits';
import { InboundRoutesRepository } from './inbound-routes.repository';
import { marksOf, ownEmailId } from './mail-marks';
import { fromAddressOf, indexedAddresses, readFields, showHeader } from './read-envelope';
import { hasBoundedHeader } from './named-addresses';
import { routesFor } from './route-address';

/** A recipient that the listener has admitted, and where its mail goes: to one route of each organization. */
export interface RoutedRecipient {
  readonly recipient: string;
  readonly routes: readonly RouteMatch[];
}

/** `unknown`: the host takes mail here, the address does not; `foreign`: the host is of no route. */
export type Routing = RoutedRecipient | 'unknown' | 'foreign';

/** One route's share of a message. */
interface Share extends RouteMatch {
  readonly recipients: string[];
}

/** Takes mail that comes to routes: for the listener. Replies are up to the customer; the service sends none. */
@Injectable()
export class InboundMailService {
  constructor(
    private readonly routes: InboundRoutesRepository,
    private readonly emails: InboundEmailsRepository,
    private readonly authentication: AuthenticationService,
    private readonly limits: InboundMailLimits,
    private readonly config: AppConfig,
  ) {}

  get maxMessageBytes(): number {
    return this.limits.maxMessageBytes;
  }

  /** Before the first message. */
  prepare(): Promise<void> {
    return this.authentication.prepare();
  }

  /** Where the mail of a recipient goes. @throws UnavailableError */
  async route(recipient: string): Promise<Routing> {
    const wanted = routesFor(recipient);
    if (!wanted) return 'foreign';
    const routes = await this.routes.match(wanted);
    if (routes.length > 0) return { recipient, routes };
    return (await this.routes.isHosted(wanted.names)) ? 'unknown' : 'foreign';
  }

  /** Whether everyone whom its header names can be found again. */
  hasBoundedHeader(message: Buffer): boolean {
    return hasBoundedHeader(message);
  }

  /**
   * Commits a copy for each route, which shows the recipients of that route only. The same message to the same recipients is
   * stored once. @returns one result for each copy @throws UnavailableError
   */
  async take(message: Buffer, recipients: readonly RoutedRecipient[], client: Client): Promise<Stored[]> {
    const fields = readFields(message);
    const authentication = await this.authentication.examine(message, client);
    const shown = { ...showHeader(fields), authentication };
    const marks = marksOf(fields, client.sender);
    const digest = await digestOf(message);
    const results: Stored[] = [];
    for (const share of sharesOf(recipients)) {
      const { recipients: envelopeTo, ...route } = share;
      const data: InboundEmailData = { ...shown, marks: await this.withOwn(marks, share, ownEmailId(fields)) };
      const email: NewInboundEmail = {
        ...route,
        digest: digestOfCopy(digest, share, client.sender),
        envelopeFrom: addressKey(client.sender),
        envelopeTo: envelopeTo.map(addressKey),
        fromAddress: fromAddressOf(fields),
        addresses: await indexedAddresses(message, [client.sender, ...envelopeTo]),
        data,
        sizeBytes: message.length,
      };
      results.push(await this.emails.store(email, message, this.capacity()));
    }
    return results;
  }

  private capacity(): InboundCapacity {
    return { ...this.limits.capacity, storedBytes: this.config.limits.inboundStoredBytes };
  }

  private async withOwn(
    marks: readonly MailMark[],
    { organizationId }: RouteMatch,
    emailId: string | undefined,
  ): Promise<readonly MailMark[]> {
    if (emailId === undefined || !(await this.routes.isOwnEmail(organizationId, emailId))) return marks;
    return [...marks, 'own'];
  }
}

/** By route, in the order in which they were named. */
function sharesOf(recipients: readonly RoutedRecipient[]): Share[] {
  const shares = new Map<string, Share>();
  for (const { recipient, routes } of recipients) {
    for (const route of routes) {
      const share = shares.get(route.routeId) ?? { ...route, recipients: [] };
      if (!share.recipients.includes(recipient)) share.recipients.push(recipient);
      shares.set(route.routeId, share);
    }
  }
  return [...shares.values()];
}

const HASHED_BYTES = 1024 * 1024;

/** A MiB takes a millisecond or two; the event loop has its turn in between. */
async function digestOf(message: Buffer): Promise<Buffer> {
  const hash = createHash('sha256');
  for (let at = 0; at < message.length; at += HASHED_BYTES) {
    if (at > 0) await nextTurn();
    hash.update(message.subarray(at, at + HASHED_BYTES));
  }
  return hash.digest();
}

/** A client that comes again names the same recipients; mail to others of the same route is mail of its own. */
function digestOfCopy(message: Buffer, { routeId, recipients }: Share, sender: string): Buffer {
  const envelope = JSON.stringify([routeId, sender, [...recipients].sort()]);
  return createHash('sha256').update(message).update(envelope).digest();
}

export { STORED } from './inbound-email';
export type { Client, Stored };
