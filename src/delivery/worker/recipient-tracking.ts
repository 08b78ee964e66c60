import type { AppConfig } from '../../config/config';
import { contentOf } from '../message/content';
import { trackHtmlInTurns } from '../message/track-html';
import { webUrlOf } from '../message/html-links';
import type { CompleteMessage, OutgoingMessage } from '../ports/message-source';
import { MAX_URL_LENGTH, RecipientLink, type RecipientLinkTarget } from '../tokens/recipient-link';

/** What stands between `<` and `>` in a `List-Unsubscribe` field (RFC 2369 section 2). */
const LISTED_ADDRESSES = /<([^<>]*)>/g;

/** Whose copy it is, and the host that the sender's domain points at us for links, once it does. */
export interface TrackedRecipient extends RecipientLinkTarget {
  readonly trackingHost: string | undefined;
}

/** Gives the html of a mail a pixel and links by which one recipient is known, as far as the mail wants it. */
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

  /** The same recipient's copy is the same every time. What it says as text is what it said before. */
  async apply(message: CompleteMessage, { trackingHost, ...target }: TrackedRecipient): Promise<CompleteMessage> {
    if (!this.appliesTo(message) || (message.html ?? '') === '') return message;
    const base = this.baseOf(trackingHost);
    const html = await trackHtmlInTurns(message.html ?? '', {
      pixelUrl: message.trackOpens ? `${base}/t/o/${this.links.issue('open', target)}` : undefined,
      linkFor: message.trackClicks ? this.linkMaker(base, target, message.headers) : undefined,
    });
    return { ...message, ...contentOf(message), html };
  }

  /** The sender's host leads to the same server, at its root; a path in front of ours is a matter of our own host. */
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
