import type { KeyObject } from 'node:crypto';
import type { Mailbox } from '../../common/mail-address';
import type { Transaction } from '../../database/statements/transaction';
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
   * Messages by email id; an email whose content was deleted is left out.
   * @param maxBodyBytes of the small bodies that are loaded too, in the order of the emails; the others are left out
   */
  abstract load(emails: readonly EmailKey[], maxBodyBytes: number): Promise<Map<string, OutgoingMessage>>;
  /** @throws Error when it was deleted */
  abstract loadBody(email: EmailKey): Promise<MessageBody>;
  /** A raw message, behind `before` free bytes. @throws Error when it was deleted */
  abstract loadRaw(email: EmailKey, before: number): Promise<Buffer>;
  /**
   * Loaded separately, right before they are sent: they are large, and few mails have any.
   * @throws Error when they were deleted
   */
  abstract loadAttachments(email: EmailKey): Promise<MessageAttachment[]>;
  /** Those of the deliveries whose recipient has been suppressed since acceptance, with the reason. */
  abstract findBlocked(deliveries: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, string>>;
}

export interface SigningKey {
  /** The `d=` of the signature. */
  readonly domain: string;
  /** The `s=` of the signature. */
  readonly selector: string;
  /** RSA, parsed once: parsing the PEM costs more than the signature (0.34 against 0.25 ms). */
  readonly privateKey: KeyObject;
  /** Host of the envelope sender once the domain points one at us (aligned SPF, RFC 7489 section 3.1.2); else the service's. */
  readonly returnPathHost?: string | undefined;
  /** Host of tracked links once the domain points one at us; else the service's. */
  readonly trackingHost?: string | undefined;
  /** Whether mail from the domain may go over encrypted connections only. */
  readonly requiresTls?: boolean;
}

/** Reason of what waits for a paused domain of its sender. */
export const SENDING_PAUSED = 'sending paused';

/** Instead of a key: nothing is sent from the domain for now. */
export interface SendingPause {
  /** Since when, and why: for the sender, in plain words. */
  readonly whyPaused: string;
}

/** The key of a domain; a key that cannot be decrypted is its error. */
export type KeyState = SigningKey | Error | SendingPause;

/** Where the engine gets DKIM keys from; bound to the domains feature by the worker's root module. */
export abstract class SigningKeySource {
  /** The key to sign with now, by domain id; a removed domain is left out. */
  abstract keysFor(domains: readonly { organizationId: string; domainId: string }[]): Promise<Map<string, KeyState>>;
}

/** Where the engine gets the short numbers that name organizations in return paths; bound to auth by the root module. */
export abstract class OrdinalSource {
  /** Ordinals by organization id; unknown organizations are left out. */
  abstract ordinalsOf(organizationIds: readonly string[]): Promise<Map<string, number>>;
}

/** The organizations' shares of the engine's work; bound to auth by the root module. */
export abstract class WeightSource {
  /** By organization id: 1 to 100. Those that are left out have 1. At most a few seconds old. */
  abstract weights(): Promise<ReadonlyMap<string, number>>;
}

/** An action of the engine itself that the operator needs to see. */
export interface OperatorEntry {
  /** Like `egress.suspended`. */
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  /** Small and free of personal data. */
  readonly data: object;
}

/** Where the engine reports them; bound to the audit log by the worker's root module. */
export abstract class OperatorLog {
  /** In the transaction that makes the change: both are written, or neither. */
  abstract record(entries: readonly OperatorEntry[], tx: Transaction): Promise<void>;
}
