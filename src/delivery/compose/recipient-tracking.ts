import { type Clock, DAY } from '../../common/clock';
import { deriveKey } from '../../common/encryption/encryption';
import { domainOf } from '../../common/mail-address';
import type { AppConfig } from '../../config/config';
import { contentInTurn } from '../message/content';
import type { HeaderField } from '../message/header-field';
import { trackHtmlInTurns, webUrlOf } from '../message/track-html';
import { DELIVERY_LIFE_MS } from '../policy/retry-schedule';
import type { ClaimedDelivery } from '../ports/delivery';
import type { CompleteMessage, OutgoingMessage } from '../ports/sources';
import { MAX_URL_LENGTH, RecipientLink, type RecipientLinkTarget } from '../tokens/recipient-link';
import { NO_EXPIRY, ReturnPath } from '../tokens/return-path';

/** What stands between `<` and `>` in a `List-Unsubscribe` field (RFC 2369 section 2). */
const LISTED_ADDRESSES = /<([^<>]*)>/g;

/** Whose copy it is, and the host that the sender's domain points at us for links, once it does. */
export interface TrackedRecipient extends RecipientLinkTarget {
  readonly trackingHost: string | undefined;
}

/** Adds a pixel and links to the html of a mail that identify one recipient, as far as the mail allows it. */
export class RecipientTracking {
  private readonly links: RecipientLink;
  private readonly publicUrl: string;

  constructor({ masterKey, http }: AppConfig) {
    this.links = new RecipientLink(masterKey);
    this.publicUrl = http.publicUrl;
  }

  /** Whether each recipient has a copy of their own; a body that is not loaded may have html. */
  appliesTo({ html = '', isBodyLoaded, trackOpens, trackClicks }: OutgoingMessage): boolean {
    return (html !== '' || !isBodyLoaded) && (trackOpens || trackClicks);
  }

  /** The same recipient's copy is the same every time. Its text part is that of the untracked mail. */
  async apply(message: CompleteMessage, { trackingHost, ...target }: TrackedRecipient): Promise<CompleteMessage> {
    if (!this.appliesTo(message) || (message.html ?? '') === '') return message;
    const base = this.baseOf(trackingHost);
    const html = await trackHtmlInTurns(message.html ?? '', {
      pixelUrl: message.trackOpens ? `${base}/t/o/${this.links.issue('open', target)}` : undefined,
      linkFor: message.trackClicks ? this.linkMaker(base, target, message.headers) : undefined,
    });
    return { ...message, ...(await contentInTurn(message)), html };
  }

  /** The sender's host serves at its root; a path prefix belongs to our own host only. */
  private baseOf(trackingHost: string | undefined): string {
    if (trackingHost === undefined) return this.publicUrl;
    const { protocol, port } = new URL(this.publicUrl);
    return `${protocol}//${trackingHost}${port === '' ? '' : `:${port}`}`;
  }

  private linkMaker(base: string, target: RecipientLinkTarget, headers: OutgoingMessage['headers']) {
    const own = [base, this.publicUrl].flatMap((ours) => [`${ours}/u/`, `${ours}/t/`]);
    const unsubscribing = unsubscribeUrls(headers);
    return (url: string): string | undefined => {
      const stays = url.length > MAX_URL_LENGTH || unsubscribing.has(url) || own.some((ours) => url.startsWith(ours));
      return stays ? undefined : `${base}/t/c/${this.links.issue('click', { ...target, url })}`;
    };
  }
}

/** Where the customer's own header leads; unsubscribing is not tracked. */
function unsubscribeUrls(headers: OutgoingMessage['headers']): ReadonlySet<string | undefined> {
  const fields = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'list-unsubscribe');
  return new Set(
    fields.flatMap(([, value]) => [...value.matchAll(LISTED_ADDRESSES)].map(([, address = '']) => webUrlOf(address))),
  );
}

/** Bounces may come this long after the last attempt. */
const RETURN_PATH_MS = 30 * DAY;
/** RFC 5321 section 4.5.3.1.3, without the angle brackets. */
const MAX_ADDRESS_CHARACTERS = 254;
const LINK = 'List-Unsubscribe';
const ONE_CLICK = 'List-Unsubscribe-Post';
const FEEDBACK = 'Feedback-ID';
/** What stands for a tag that is not there, or that could name a person. */
const NO_TAG = 'none';
const MAX_TAG_LENGTH = 32;

/** What names the single recipient outside of the content: the envelope sender and the unsubscribe header fields. */
export class RecipientHeaders {
  private readonly returnPath: ReturnPath;
  private readonly unsubscribing: ReturnPath;
  private readonly links: RecipientLink;
  private readonly ownHost: string;
  private readonly publicUrl: string;

  constructor({ masterKey, delivery, http }: AppConfig, clock: Clock) {
    this.returnPath = new ReturnPath(deriveKey(masterKey, 'return-path'), clock);
    this.unsubscribing = new ReturnPath(deriveKey(masterKey, 'unsubscribe-address'), clock, 'unsubscribe');
    this.links = new RecipientLink(masterKey);
    this.ownHost = delivery.mailHost;
    this.publicUrl = http.publicUrl;
  }

  /**
   * An address that names the delivery, so that a bounce names its mail. At the sender's own host if it has
   * one, and the address stays within what a path may hold.
   * @param ordinal the organization's
   */
  envelopeSender(claim: ClaimedDelivery, ordinal: number, alignedHost: string | undefined): string {
    const { mode, emailId, position, firstDueAt } = claim;
    const expiresAt = new Date(firstDueAt.getTime() + DELIVERY_LIFE_MS + RETURN_PATH_MS);
    const localPart = this.returnPath.issue({ organizationOrdinal: ordinal, mode, emailId, position }, expiresAt);
    const aligned = `${localPart}@${alignedHost ?? this.ownHost}`;
    return aligned.length <= MAX_ADDRESS_CHARACTERS ? aligned : `${localPart}@${this.ownHost}`;
  }

  /**
   * Header fields for one-click unsubscription from bulk mail (RFC 8058 section 3.1). None for transactional mail, and none
   * where the customer has a `List-Unsubscribe` of their own: then the link and its list are theirs.
   * @param ordinal the organization's
   */
  unsubscribeFields(claim: ClaimedDelivery, ordinal: number, headers: OutgoingMessage['headers']): HeaderField[] {
    if (claim.category !== 'bulk') return [];
    const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
    if (given.has(LINK.toLowerCase())) return [];
    const { mode, emailId, position } = claim;
    const target = { organizationOrdinal: ordinal, mode, emailId, position };
    const token = this.links.issue('unsubscribe', target);
    // For mail programs that show a button for addresses only.
    const address = `${this.unsubscribing.issue(target, NO_EXPIRY)}@${this.ownHost}`;
    const fields: HeaderField[] = [
      [LINK, `<${this.publicUrl}/u/${token}>, <mailto:${address}?subject=unsubscribe>`],
      [ONE_CLICK, 'List-Unsubscribe=One-Click'],
    ];
    return fields.filter(([name]) => !given.has(name.toLowerCase()));
  }

  /**
   * `Feedback-ID: <tag>:<domain>:<category>:<organization>`, by which Gmail reports complaints of a stream of mail. The same
   * for all recipients, and nothing personal: the first tag, unless it could contain an address or a name. A customer's own one
   * is refused with the email.
   * @param ordinal the organization's
   */
  feedbackFields({ category }: ClaimedDelivery, ordinal: number, message: OutgoingMessage): HeaderField[] {
    const sender = `wb${String(ordinal).padStart(6, '0')}`;
    return [[FEEDBACK, `${tagOf(message.tag)}:${domainOf(message.from.email)}:${category}:${sender}`]];
  }
}

function tagOf(tag: string | undefined): string {
  const isPlain = tag !== undefined && tag.length <= MAX_TAG_LENGTH && /^[\w.-]+$/.test(tag);
  return isPlain ? tag : NO_TAG;
}
