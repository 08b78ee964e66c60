import type { Mailbox } from '../../../../common/mail-address';
import type { MailCategory } from '../../../../delivery/ports/delivery';
import { AppError, type ErrorCode } from '../../../../common/errors/app-error';
import type { Mode } from '../../../../common/tenant';
import type { TraceContext } from '../../../../common/tracing/tracing';
import type { SuppressionReason } from '../../../suppressions/suppressions.service';
import type { IdempotencyClaim } from './idempotency';

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

/** `domain` undefined: a bare local part, to be completed with the organization's default domain. */
export interface Sender {
  readonly localPart: string;
  readonly domain: string | undefined;
  readonly name: string | undefined;
}

/** A template in place of subject, html and text, until it is rendered. */
export interface TemplateReference {
  /** Either `id` or `name` is given. */
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** The latest version when undefined. */
  readonly version: number | undefined;
  /** JSON of an object. */
  readonly variables: string;
}

/** One email as requested, validated and normalized. */
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
  /** A raw message, which is sent unchanged; then there are no html, text, headers and attachments. */
  readonly raw?: Buffer;
  /** How it was submitted; part of its first event. Absent: the HTTP API. */
  readonly source?: 'api' | 'smtp_submission';
  /** The email that this one is resent from. */
  readonly resentFrom?: string;
}

/** A recipient that is left out because of the suppression list. */
export interface SuppressedRecipient {
  readonly email: string;
  readonly reason: SuppressionReason;
}

export interface AcceptedItem {
  readonly kind: 'accepted';
  readonly id: string;
  readonly status: 'queued' | 'scheduled';
  readonly scheduledAt?: string;
  readonly suppressed: readonly SuppressedRecipient[];
  /** Warnings about recipients that still get the email; they name no person. */
  readonly warnings?: readonly string[];
}

export interface RefusedItem {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Record<string, unknown>;
  readonly suggestion?: string;
  readonly retryAfterSeconds?: number;
}

/** The result of one email; plain JSON, because it is stored with its idempotency key. */
export type ItemResult = AcceptedItem | RefusedItem;

/** A validated request with its resolved domain and settings, ready to be screened. */
export interface AcceptCommand {
  readonly kind: 'command';
  readonly organizationId: string;
  readonly mode: Mode;
  readonly domain: {
    readonly id: string;
    readonly name: string;
    /** Whether its live mail counts against the limits of a warm-up, or of a restricted domain. */
    readonly isLimited: boolean;
  };
  readonly request: SendRequest;
  /** Monthly recipients of the organization's live mail; null: unlimited. */
  readonly monthlyRecipients: number | null;
  readonly trackByDefault: { readonly opens: boolean; readonly clicks: boolean };
  /** The span of the request, of a sampled trace. */
  readonly trace?: TraceContext | undefined;
}

/** An email that is about to be inserted. */
export interface AcceptedEmail {
  readonly id: string;
  readonly command: AcceptCommand;
  /** The recipients that are not suppressed. */
  readonly recipients: readonly Recipient[];
  readonly suppressed: readonly SuppressedRecipient[];
}

/** One email of a submission: to be accepted, or refused already. */
export interface SubmissionItem {
  readonly candidate: AcceptCommand | RefusedItem;
  readonly idempotency?: IdempotencyClaim;
}

/** What one HTTP request submits; it is committed as a whole. */
export interface Submission {
  readonly items: readonly SubmissionItem[];
  /** Covers the whole request. */
  readonly idempotency?: IdempotencyClaim;
}

/** The state of a key. `in_progress`: another process handles it right now. */
export type KeyState =
  | { readonly kind: 'free' }
  | { readonly kind: 'in_progress' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'stored'; readonly response: ItemResult | ItemResult[] };

/** A response to be stored under a key: one result, or a batch's list of results. */
export interface KeyedResponse {
  readonly claim: IdempotencyClaim;
  readonly response: ItemResult | readonly ItemResult[];
}

/** A submission after the suppression check: each email is ready to be written, or refused. */
export interface ScreenedSubmission {
  readonly items: readonly { readonly outcome: AcceptedEmail | RefusedItem; readonly idempotency?: IdempotencyClaim }[];
  readonly idempotency?: IdempotencyClaim;
}

export interface SubmissionResult {
  readonly results: readonly ItemResult[];
  /** True when the result of an earlier request with the same key is returned again. */
  readonly replayed: boolean;
}

/** The result of a submission, or the refusal of the request as a whole. */
export type SubmissionOutcome = SubmissionResult | AppError;

/** An error as the result of one item of a batch; `toAppError` is the inverse. */
export function refusal(error: AppError): RefusedItem {
  const { code, message, details, suggestion, retryAfterSeconds } = error;
  return {
    ...{ kind: 'refused', code, message },
    ...(details && { details }),
    ...(suggestion && { suggestion }),
    ...(retryAfterSeconds && { retryAfterSeconds }),
  };
}

/** A refused item as the error of a single send. @param replayed it is a stored response under the same idempotency key */
export function toAppError(refused: RefusedItem, replayed = false): AppError {
  const { code, message, details, suggestion, retryAfterSeconds } = refused;
  return new AppError(code, message, { details, suggestion, retryAfterSeconds, replayed });
}
