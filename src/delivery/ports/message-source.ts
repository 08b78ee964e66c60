import type { Mailbox } from '../../common/mail-address';
import type { ClaimedDelivery, EmailKey } from './delivery';

export interface MessageAttachment {
  readonly filename: string;
  readonly contentType: string;
  /** Set for inline parts that the html refers to as `cid:…`. */
  readonly contentId?: string;
  readonly content: Buffer;
}

export type MessageBody = Pick<OutgoingMessage, 'html' | 'text'>;

/** An email's content, attachments aside, the same at every attempt. */
export interface OutgoingMessage extends EmailKey {
  readonly domainId: string;
  /** The `Date` header: when the email was due, so that every attempt sends the same bytes. */
  readonly date: Date;
  readonly from: Mailbox;
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
  readonly replyTo: readonly Mailbox[];
  readonly subject: string;
  /** The first of the customer's tags. */
  readonly tag?: string | undefined;
  /** Both are absent while `isBodyLoaded` is false. */
  readonly html?: string;
  readonly text?: string;
  /** What both weigh as they are stored. */
  readonly bodyBytes: number;
  /** False: it is large or has attachments, and is loaded apart, right before it is sent. */
  readonly isBodyLoaded: boolean;
  /** Whether opening the html, and following its links, is to be noticed. */
  readonly trackOpens: boolean;
  readonly trackClicks: boolean;
  /** Customer headers, already checked: no CR, LF or NUL, none of the service's own names. */
  readonly headers: Readonly<Record<string, string>>;
  /** All attachments together, at least 1; 0 without any. */
  readonly attachmentBytes: number;
  /** It came as a whole message and goes out as it is; `bodyBytes` is what that weighs. Absent: it is composed. */
  readonly isRaw?: boolean;
  /** Absent while `isBodyLoaded` is false. */
  readonly raw?: Buffer;
}

/** All that is needed to compose an email's bytes. */
export interface CompleteMessage extends OutgoingMessage {
  /** Absent: it has none. */
  readonly attachments?: readonly MessageAttachment[];
}

/** Where the engine gets messages from; bound to the emails feature by the worker's root module. */
export abstract class MessageSource {
  /**
   * Messages by email id; an email whose content is gone is left out.
   * @param maxBodyBytes of the small bodies that come along, in the order of the emails; the others are left out
   */
  abstract load(emails: readonly EmailKey[], maxBodyBytes: number): Promise<Map<string, OutgoingMessage>>;
  /** @throws Error when it is gone */
  abstract loadBody(email: EmailKey): Promise<MessageBody>;
  /** A raw message, behind `before` free bytes. @throws Error when it is gone */
  abstract loadRaw(email: EmailKey, before: number): Promise<Buffer>;
  /** Loaded apart, right before they are sent: they are large, and few mails have any. @throws Error when they are gone */
  abstract loadAttachments(email: EmailKey): Promise<MessageAttachment[]>;
  /** Those of the deliveries whose recipient has been suppressed since acceptance, with the reason. */
  abstract findBlocked(deliveries: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, string>>;
}
