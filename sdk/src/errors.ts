import { brand, isBranded } from './brand.js';
import type { components } from './generated/api.js';

/** Every code of an error that the service returns; `/docs` explains each. */
export type ErrorCode = components['schemas']['ErrorCode'];

export interface ErrorFields {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly suggestion?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** A refusal by the service, with a stable code. */
export class WaybillError extends Error {
  static {
    brand(this, 'WaybillError');
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(this, value);
  }
  override readonly name: string = 'WaybillError';
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** The remedy. */
  readonly suggestion: string | undefined;
  /** Quote it to the operator. */
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(fields: ErrorFields) {
    super(fields.message);
    this.status = fields.status;
    this.code = fields.code;
    this.details = fields.details;
    this.suggestion = fields.suggestion;
    this.requestId = fields.requestId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }
}

/** 400: `fields` has messages by field path, like `to[1].email`. */
export class ValidationError extends WaybillError {
  static {
    brand(this, 'ValidationError');
  }
  override readonly name = 'ValidationError';

  get fields(): Readonly<Record<string, readonly string[]>> {
    return (this.details?.validation ?? {}) as Record<string, readonly string[]>;
  }
}
/** 401 */
export class AuthenticationError extends WaybillError {
  static {
    brand(this, 'AuthenticationError');
  }
  override readonly name = 'AuthenticationError';
}
/** 403 */
export class PermissionError extends WaybillError {
  static {
    brand(this, 'PermissionError');
  }
  override readonly name = 'PermissionError';
}
/** 404 */
export class NotFoundError extends WaybillError {
  static {
    brand(this, 'NotFoundError');
  }
  override readonly name = 'NotFoundError';
}
/** 409 */
export class ConflictError extends WaybillError {
  static {
    brand(this, 'ConflictError');
  }
  override readonly name = 'ConflictError';
}
/** 422: a business refusal, such as `recipient_suppressed`. */
export class UnprocessableError extends WaybillError {
  static {
    brand(this, 'UnprocessableError');
  }
  override readonly name = 'UnprocessableError';
}
/** 429, once the retries are used up. */
export class RateLimitError extends WaybillError {
  static {
    brand(this, 'RateLimitError');
  }
  override readonly name = 'RateLimitError';
}
/** 5xx, once the retries are used up. */
export class ServerError extends WaybillError {
  static {
    brand(this, 'ServerError');
  }
  override readonly name = 'ServerError';
}

/** No response: the service could not be reached, or the connection broke. */
export class ConnectionError extends Error {
  static {
    brand(this, 'ConnectionError');
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(this, value);
  }
  override readonly name: string = 'ConnectionError';
}
/** No response within `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  static {
    brand(this, 'TimeoutError');
  }
  override readonly name = 'TimeoutError';
}
/** A webhook that is not genuine: wrong signature, too old, or malformed. */
export class WebhookVerificationError extends Error {
  static {
    brand(this, 'WebhookVerificationError');
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(this, value);
  }
  override readonly name = 'WebhookVerificationError';
}

const BY_STATUS: Readonly<Record<number, typeof WaybillError>> = {
  400: ValidationError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableError,
  429: RateLimitError,
};

export function errorOf(fields: ErrorFields): WaybillError {
  const Type = BY_STATUS[fields.status] ?? (fields.status >= 500 ? ServerError : WaybillError);
  return new Type(fields);
}

/** `isWaybillError(error, 'recipient_suppressed')` */
export function isWaybillError(error: unknown, ...codes: ErrorCode[]): error is WaybillError {
  return error instanceof WaybillError && (codes.length === 0 || codes.includes(error.code));
}
