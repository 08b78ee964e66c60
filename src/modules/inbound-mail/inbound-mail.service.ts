import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { EVENT_LOOP } from '../../common/async/fair-turns';
import { addressKey } from '../../common/mail-address';
import { AppConfig } from '../../config/config';
import type { Client } from './authentication/authentication';
import { AuthenticationService } from './authentication/authentication.service';
import type {
  InboundCapacity,
  InboundEmailData,
  NewInboundEmail,
  RoutedRecipient,
  RouteMatch,
  Routing,
  Stored,
} from './emails/inbound-email';
import { InboundEmailsRepository } from './emails/inbound-emails.repository';
import { InboundMailLimits } from './emails/inbound-mail-limits';
import { InboundRoutesRepository } from './routes/inbound-routes.repository';
import { hasBoundedHeader } from './emails/named-addresses';
import { type MailMark, marksOf, ownEmailId } from './emails/mail-marks';
import { fromAddressOf, indexedAddresses, ofAuthor, readFields, showHeader } from './emails/read-envelope';
import { domainsAbove, hostsNamedBy, routesFor, withoutQuotes } from './routes/route-address';

/** One route's share of a message. */
type Share = RouteMatch & { readonly recipients: string[] };

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

  /** Where the mail of a recipient goes. @throws UnavailableError */
  async route(address: string): Promise<Routing> {
    const recipient = withoutQuotes(address);
    const wanted = routesFor(recipient);
    const routes = wanted ? await this.routes.match(wanted) : [];
    if (routes.length > 0) return { recipient, routes };
    if (!(await this.routes.isHosted(wanted?.names ?? hostsNamedBy(recipient)))) return 'foreign';
    return wanted?.isPostmaster && (await this.routes.hasRoute(wanted)) ? 'postmaster' : 'unknown';
  }

  /** Whether a host is that of a verified domain of any organization, or below one. @throws UnavailableError */
  readonly receives = (host: string): Promise<boolean> => this.routes.isHosted(domainsAbove(host));

  /** Whether the index holds all addresses of its header. */
  hasBoundedHeader(message: Buffer): boolean {
    return hasBoundedHeader(message);
  }

  /**
   * Commits a copy for each route, which shows the recipients of that route only. The same message to the same recipients is
   * stored once. @returns one result for each copy @throws UnavailableError
   */
  async take(message: Buffer, recipients: readonly RoutedRecipient[], client: Client): Promise<Stored[]> {
    await EVENT_LOOP.next(client.network);
    const fields = readFields(message);
    const { dmarc, ...examined } = await this.authentication.examine(message, client);
    await EVENT_LOOP.next(client.network);
    const shown = { ...showHeader(fields), authentication: { ...examined, dmarc: ofAuthor(fields, dmarc) } };
    const marks = marksOf(fields, client.sender);
    const digest = await digestOf(message, client.network);
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
        addresses: await indexedAddresses(message, [client.sender, ...envelopeTo], client.network),
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

/** In a millisecond or two. */
const HASHED_BYTES = 1024 * 1024;

async function digestOf(message: Buffer, holder: string): Promise<Buffer> {
  const hash = createHash('sha256');
  for (let at = 0; at < message.length; at += HASHED_BYTES) {
    if (at > 0) await EVENT_LOOP.next(holder);
    hash.update(message.subarray(at, at + HASHED_BYTES));
  }
  return hash.digest();
}

/** A client that comes again names the same recipients; mail to others of the same route is mail of its own. */
function digestOfCopy(message: Buffer, { routeId, recipients }: Share, sender: string): Buffer {
  const envelope = JSON.stringify([routeId, sender, [...recipients].sort()]);
  return createHash('sha256').update(message).update(envelope).digest();
}

export { STORED } from './emails/inbound-email';
export type { Client, RoutedRecipient, Routing, Stored };
