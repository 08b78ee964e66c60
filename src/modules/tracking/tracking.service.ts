import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { RecipientLinksService, type RecipientLinkTarget } from '../emails/recipient-links.service';
import { type Hit, HitHistory, type HitKind } from './hit-history';
import { HitQueue } from './hit-queue.service';
import { recognizeAutomation, truncateAddress, type Visit } from './automation';
import { TrackingMetrics } from './hit-writer.service';
import { FairLimit } from '../../common/async/fair-turns';
import { NotFoundError } from '../../common/errors/app-error';
import { domainOf, maskAddress } from '../../common/mail-address';
import { clientGone } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { RecordedOutcome } from '../../delivery/ports/outcome';
import { OutcomeRecorder } from '../emails/outcomes/outcome-recorder.service';
import { EmailLookupService, type MailRecipient } from '../emails/email-lookup.service';

const MAX_AGENT_LENGTH = 256;
const NOT_PRINTABLE = /[^\x20-\x7e]/g;
/** A token ends with its signature, which is unique. */
const SIGNATURE_LENGTH = 22;
/** Even a signed token must not redirect to `javascript:` or `file:`. */
const WEB_ADDRESS = /^https?:\/\//i;

interface Followed {
  readonly token: string;
  readonly target: RecipientLinkTarget;
  readonly url?: string;
}

/** Handles opens and clicks from the token alone, without a query; the hit is recorded later. */
@Injectable()
export class TrackingService {
  constructor(
    private readonly links: RecipientLinksService,
    private readonly history: HitHistory,
    private readonly queue: HitQueue,
    private readonly clock: Clock,
    private readonly metrics: TrackingMetrics,
  ) {}

  /** Records that the pixel was loaded. Returns false for an invalid token. */
  open(token: string, visit: Visit): boolean {
    const target = this.links.read('open', token);
    if (!target) this.metrics.count('opened', 'refused');
    else this.take('opened', { token, target }, visit);
    return target !== undefined;
  }

  /** Records a click and returns the link's target, exactly as in the mail; undefined for an invalid token. */
  click(token: string, visit: Visit): string | undefined {
    const { url, ...target } = this.links.read('click', token) ?? {};
    if (url === undefined || !WEB_ADDRESS.test(url)) {
      this.metrics.count('clicked', 'refused');
      return undefined;
    }
    this.take('clicked', { token, target: target as RecipientLinkTarget, url }, visit);
    return url;
  }

  private take(kind: HitKind, { token, target, url }: Followed, visit: Visit): void {
    const recognition = recognizeAutomation(visit);
    const linkKey = token.slice(-SIGNATURE_LENGTH);
    if (this.history.isRepeated(linkKey, recognition.automation !== undefined)) {
      this.metrics.count(kind, 'repeated');
      return;
    }
    const hit: Hit = {
      kind,
      target,
      linkKey,
      ...recognition,
      occurredAt: this.clock.now(),
      atMs: this.clock.monotonicMs(),
      userAgent: visit.userAgent.slice(0, MAX_AGENT_LENGTH).replace(NOT_PRINTABLE, '?'),
      isOnThisMachine: visit.isOnThisMachine,
      ip: truncateAddress(visit.address),
      ...(url !== undefined && { url }),
    };
    if (kind === 'clicked' && !recognition.automation) this.history.note(hit);
    this.queue.add(hit);
  }
}

/** Concurrent requests, by database connections of this process. No key is presented here: the organization is that of the link. */
const [CHANGES, PAGES] = [3, 2];
/** Per organization: a newsletter causes hundreds of clicks. */
const OF_ONE = { atATime: 2, waiting: 500 };

/** `one-click`: the mail program's own button (RFC 8058); `page`: the button on our page. */
export type UnsubscribeMethod = 'one-click' | 'page';

/** What the page shows. The address is masked because others may open the link of a forwarded mail. */
export interface Subscription {
  readonly senderDomain: string;
  /** `j***@example.com` */
  readonly maskedAddress: string;
}

/**
 * Unsubscribes a recipient, identified by the signed link in a mail, from the bulk mail of an organization. The links of one
 * organization take turns: forty at a time had every connection to the database, and all other requests took ten times as long.
 */
@Injectable()
export class UnsubscribeService {
  private readonly changes = new FairLimit(CHANGES, OF_ONE);
  /** Apart: one client can open the page of its link any number of times, and must not keep others from unsubscribing. */
  private readonly pages = new FairLimit(PAGES, { ...OF_ONE, atATime: 1 });

  constructor(
    private readonly links: RecipientLinksService,
    private readonly recipients: EmailLookupService,
    private readonly outcomes: OutcomeRecorder,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Reads only. @throws NotFoundError when the token is invalid or its email no longer exists, TooManyAtATimeError */
  find(token: string): Promise<Subscription> {
    return this.inTurn(this.pages, token, describe, clientGone());
  }

  /**
   * Committed when it resolves. A repetition writes nothing, unless the suppression has been removed meanwhile: then it is added again.
   * @throws NotFoundError as `find` does
   */
  unsubscribe(token: string, method: UnsubscribeMethod): Promise<Subscription> {
    return this.inTurn(this.changes, token, async (recipient) => {
      if (!(await this.recipients.isUnsubscribed(recipient))) await this.record(recipient, method);
      return describe(recipient);
    });
  }

  private async record(recipient: MailRecipient, method: UnsubscribeMethod): Promise<void> {
    const { organizationId, mode, emailId, position, domainId, address } = recipient;
    const outcome: RecordedOutcome = {
      ...{ organizationId, mode, emailId, position, domainId },
      recipient: address,
      outcome: { kind: 'unsubscribed', data: { method } },
      source: 'tracking',
      occurredAt: this.clock.now(),
    };
    await this.database.transaction((tx) => this.outcomes.record([outcome], tx));
  }

  /** @param signal none for an unsubscription, which is also done for a client that does not wait for the response */
  private async inTurn<T>(
    limit: FairLimit,
    token: string,
    work: (recipient: MailRecipient) => T | Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const target = this.links.read('unsubscribe', token);
    if (!target) throw new NotFoundError('Link');
    const ordinal = String(target.organizationOrdinal);
    return limit.run(ordinal, async () => work(await this.recipientOf(target)), signal);
  }

  private async recipientOf(target: RecipientLinkTarget): Promise<MailRecipient> {
    const key = await this.links.keyOf(target);
    const recipient = key && (await this.recipients.findRecipient(key));
    if (!recipient) throw new NotFoundError('Link');
    return recipient;
  }
}

function describe({ fromEmail, address }: Pick<MailRecipient, 'fromEmail' | 'address'>): Subscription {
  return { senderDomain: domainOf(fromEmail), maskedAddress: maskAddress(address) };
}
