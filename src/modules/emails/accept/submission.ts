import type { ErrorCode } from '../../../common/errors/error-codes';
import { AppError } from '../../../common/errors/app-error';
import type { Mode } from '../../../common/tenant';
import type { SuppressionReason } from '../../suppressions/suppressions.service';
import type { AcceptCommand } from './accepted-email';

/** The answer for one email; plain JSON, because it is stored with its idempotency key. */
export type ItemResult =
  | {
      readonly kind: 'accepted';
      readonly id: string;
      readonly status: 'queued' | 'scheduled';
      readonly scheduledAt?: string;
      readonly suppressed: readonly { readonly email: string; readonly reason: SuppressionReason }[];
    }
  | {
      readonly kind: 'refused';
      readonly code: ErrorCode;
      readonly message: string;
      readonly details?: Record<string, unknown>;
      readonly suggestion?: string;
      readonly retryAfterSeconds?: number;
    };

export interface IdempotencyClaim {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly path: string;
  readonly key: string;
  readonly fingerprint: Buffer;
}

/** One email of a submission: to be accepted, or refused already before it came here. */
export interface SubmissionItem {
  readonly candidate: AcceptCommand | Extract<ItemResult, { kind: 'refused' }>;
  readonly idempotency?: IdempotencyClaim;
}

/** What one HTTP request submits; it is committed as a whole. */
export interface Submission {
  readonly items: readonly SubmissionItem[];
  /** Covers the whole request. */
  readonly idempotency?: IdempotencyClaim;
}

export interface SubmissionResult {
  readonly results: readonly ItemResult[];
  /** True when the answer of an earlier request with the same key is given again. */
  readonly replayed: boolean;
}

export function refusal(error: AppError): Extract<ItemResult, { kind: 'refused' }> {
  const { code, message, details, suggestion, retryAfterSeconds } = error;
  return {
    ...{ kind: 'refused', code, message },
    ...(details && { details }),
    ...(suggestion && { suggestion }),
    ...(retryAfterSeconds && { retryAfterSeconds }),
  };
}

export function toAppError(result: Extract<ItemResult, { kind: 'refused' }>): AppError {
  const { code, message, details, suggestion, retryAfterSeconds } = result;
  return new AppError(code, message, { details, suggestion, retryAfterSeconds });
}

/** Only what cannot change by trying again is remembered: acceptances and the final business refusals. */
export function isFinal(result: ItemResult): boolean {
  return result.kind === 'accepted' || result.code === 'recipient_suppressed' || result.code === 'domain_not_verified';
}
