import type { Mailbox } from '../../../common/mail-address';
import type { MailCategory } from '../../../delivery/ports/delivery';

export type RecipientKind = 'to' | 'cc' | 'bcc';

export interface Recipient extends Mailbox {
  readonly kind: RecipientKind;
}

export interface Attachment {
  readonly filename: string;
  readonly contentType: string;
  readonly contentId: string | undefined;
  readonly content: Buffer;
}

/** `domain` undefined: the sender gave a bare local part, to be completed with the organization's default domain. */
export interface Sender {
  readonly localPart: string;
  readonly domain: string | undefined;
  readonly name: string | undefined;
}

/** A template in place of subject, html and text, until it is rendered. */
export interface TemplateReference {
  /** Either of them. */
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** The latest one unless given. */
  readonly version: number | undefined;
  /** JSON of an object. */
  readonly variables: string;
}

/** One email as a client asked for it, validated and normalised. */
export interface SendRequest {
  readonly from: Sender;
  /** 1 to 50, each address once. */
  readonly recipients: readonly Recipient[];
  readonly replyTo: readonly Mailbox[];
  /** Empty until the template is rendered. */
  readonly subject: string;
  readonly html: string | undefined;
  readonly text: string | undefined;
  readonly template?: TemplateReference | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly attachments: readonly Attachment[];
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  readonly scheduledAt: Date | undefined;
  readonly expiresAt: Date | undefined;
  readonly tracking: { readonly opens: boolean | undefined; readonly clicks: boolean | undefined };
  readonly category: MailCategory;
  readonly idempotencyKey: string | undefined;
  /** The message itself, which goes out as it is; then there are no html, text, headers and attachments. */
  readonly raw?: Buffer;
  /** How it was submitted; part of its first event. Absent: the HTTP API. */
  readonly source?: 'api' | 'smtp_submission';
  /** The email that this one repeats. */
  readonly resentFrom?: string;
}
