import type { ErrorCode } from './error-codes';

export interface AppErrorOptions {
  /** Machine-readable facts for the client, shown as `error.details`. */
  details?: Record<string, unknown>;
  /** What the client can do about it, shown as `error.suggestion`. */
  suggestion?: string;
  /** Sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** The stored result of an earlier request with the same idempotency key; sent as `Idempotent-Replayed`. */
  replayed?: boolean;
  /** For the log only; never shown to a client. */
  cause?: unknown;
}

/** An exceptional result with a stable code. `message` is shown to the client. */
export class AppError extends Error {
  readonly details: Record<string, unknown> | undefined;
  readonly suggestion: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly replayed: boolean;

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: AppErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.name = new.target.name;
    this.details = options.details;
    this.suggestion = options.suggestion;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.replayed = options.replayed ?? false;
  }
}

/** Messages per field path, as in `details.validation` (`to[1].email`, `0.subject`). */
export type FieldErrors = Record<string, string[]>;

/** 400 with the exact message that the contract fixes. */
export class ValidationError extends AppError {
  constructor(validation: FieldErrors) {
    super('invalid_request', 'Request validation failed', { details: { validation } });
  }
}

/** 404. An id of another organization gets the same response as an unknown one. */
export class NotFoundError extends AppError {
  constructor(what: string) {
    super('resource_not_found', `${what} not found`);
  }
}

/** 429: others are served, and this client has as much under way, and waiting, as it may. */
export class TooManyAtATimeError extends AppError {
  constructor() {
    const suggestion = 'Wait for the responses to earlier requests';
    super('rate_limit_exceeded', 'Too many requests at a time', { retryAfterSeconds: 1, suggestion });
  }
}

/** 503: the database is away or the process is stopping. */
export class UnavailableError extends AppError {
  constructor(message = 'The service is temporarily unavailable', cause?: unknown, retryAfterSeconds = 1) {
    super('service_unavailable', message, { retryAfterSeconds, cause });
  }
}
