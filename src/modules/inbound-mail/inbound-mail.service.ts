import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { EVENT_LOOP } from '../../common/async/fair-turns';
import { addressKey } from '../../common/mail-address';
import type { HeaderFields } from '../../common/mime/mime-message';
import { AppConfig } from '../../config/config';
import { AuthenticationService, type Client } from './authentication.service';
import type {
  InboundCapacity,
  InboundEmailData,
  MailMark,
  NewInboundEmail,
  RoutedRecipient,
  RouteMatch,
  Routing,
  Stored,
} from './inbound-email';
import { InboundEmailsRepository } from './inbound-emails.repository';
import { InboundMailLimits } from './inbound-mail-limits';
import { InboundRoutesRepository } from './inbound-routes.repository';
import { hasBoundedHeader } from './named-addresses';
import { fromAddressOf, indexedAddresses, ofAuthor, readFields, showHeader } from './read-envelope';
import { domainsAbove, routesFor } from './route-address';

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
  async route(recipient: string): Promise<Routing> {
    const wanted = routesFor(recipient);
    if (!wanted) return 'foreign';
    const routes = await this.routes.match(wanted);
    if (routes.length > 0) return { recipient, routes };
    if (!(await this.routes.isHosted(wanted.names))) return 'foreign';
    return wanted.isPostmaster && (await this.routes.hasRoute(wanted)) ? 'postmaster' : 'unknown';
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

export { STORED } from './inbound-email';
export type { Client, RoutedRecipient, Routing, Stored };
/** RFC 5321 section 6.3 asks for a limit of at least 100 hops; real mail takes ten. */
const MAX_HOPS = 50;
/** Fields of mailing lists (RFC 2919, RFC 2369). */
const LIST_FIELDS = ['list-id', 'list-post', 'list-unsubscribe', 'list-help', 'list-archive'] as const;
/** Fields that only autoresponders write. */
const AUTO_FIELDS = ['x-autoreply', 'x-auto-reply', 'x-autorespond', 'x-autoresponder', 'x-vacation'] as const;
/** Of envelope senders that the engine makes. */
const OWN_SENDER = /^b\+[a-z2-7]{55}@/i;
/** Of emails that the engine composes. */
const OWN_MESSAGE_ID = /^<([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})@/;

/** Why mail should get no automatic reply, by its own header. */
export function marksOf(fields: HeaderFields, envelopeFrom: string): MailMark[] {
  const marks: Record<Exclude<MailMark, 'own'>, boolean> = {
    auto_submitted: isAutoSubmitted(fields, envelopeFrom),
    bulk: isBulk(fields),
    list: fields.has(...LIST_FIELDS),
    loop: fields.all('received').length > MAX_HOPS || OWN_SENDER.test(envelopeFrom),
  };
  return (Object.keys(marks) as (keyof typeof marks)[]).filter((mark) => marks[mark]);
}

/** The email's id, if the Message-ID has our form; the email may not exist. */
export function ownEmailId(fields: HeaderFields): string | undefined {
  return OWN_MESSAGE_ID.exec(fields.first('message-id') ?? '')?.[1];
}

/** RFC 3834 section 5: parameters may follow. The null sender stands for bounces and notices (RFC 5321 section 4.5.5). */
function isAutoSubmitted(fields: HeaderFields, envelopeFrom: string): boolean {
  const field = fields.first('auto-submitted')?.trim().toLowerCase();
  return envelopeFrom === '' || (field !== undefined && !/^no\b/.test(field)) || fields.has(...AUTO_FIELDS);
}

function isBulk(fields: HeaderFields): boolean {
  const precedence = [...fields.all('precedence'), ...fields.all('x-precedence')];
  return precedence.some((value) => /^\s{0,10}(?:bulk|junk|list|auto[_-]?reply)\b/i.test(value));
}
