/**
 * Every error code of the API with its HTTP status and the sentence that the documentation shows.
 * The single place where a status is decided.
 */
export const ERROR_CODES = {
  invalid_request: {
    status: 400,
    summary: 'The request is malformed or failed validation; details.validation names the fields.',
  },
  invalid_api_key: { status: 401, summary: 'The API key is missing, malformed or unknown.' },
  expired_api_key: { status: 401, summary: 'The API key has expired.' },
  revoked_api_key: { status: 401, summary: 'The API key has been revoked.' },
  insufficient_permissions: { status: 403, summary: 'The API key lacks the scope that the message names.' },
  account_suspended: { status: 403, summary: 'The organization is suspended.' },
  domain_not_allowed: { status: 403, summary: 'The API key is bound to another domain.' },
  resource_not_found: { status: 404, summary: 'No such resource, address or path.' },
  method_not_allowed: { status: 405, summary: 'The path exists, but not for this method; see the Allow header.' },
  request_timeout: { status: 408, summary: 'The request did not arrive in time.' },
  domain_already_exists: { status: 409, summary: 'The domain is already registered.' },
  domain_limit_reached: { status: 409, summary: 'The organization has as many domains as it may have.' },
  default_domain_in_use: { status: 409, summary: 'The default domain cannot be deleted while other domains exist.' },
  dkim_rotation_in_progress: {
    status: 409,
    summary: 'The new DKIM key has not been seen in DNS yet, or the previous one is within its 48 hours.',
  },
  suppression_exists: { status: 409, summary: 'The address is already suppressed for this reason.' },
  suppression_not_removable: { status: 409, summary: 'Bounce, complaint and blocklist entries cannot be removed.' },
  idempotency_in_progress: { status: 409, summary: 'The first request with this idempotency key is still running.' },
  template_already_exists: { status: 409, summary: 'The organization has a template of this name already.' },
  template_limit_reached: {
    status: 409,
    summary: 'The organization has as many templates, or as much in them, as it may have.',
  },
  inbound_route_already_exists: { status: 409, summary: 'The organization has a route for this address already.' },
  inbound_route_limit_reached: { status: 409, summary: 'The organization has as many inbound routes as it may have.' },
  api_key_limit_reached: { status: 409, summary: 'The organization has as many usable API keys as it may have.' },
  webhook_limit_reached: { status: 409, summary: 'The organization has as many webhooks of this mode as it may have.' },
  webhook_queue_full: { status: 409, summary: 'As many messages wait for the webhook as may wait.' },
  webhook_disabled: { status: 409, summary: 'The webhook is disabled: nothing is sent to it.' },
  webhook_replay_in_progress: { status: 409, summary: 'An earlier replay to this webhook is still running.' },
  export_not_available: { status: 409, summary: 'The export is not completed, or its result has been deleted.' },
  email_not_reschedulable: {
    status: 409,
    summary: 'The email is no longer scheduled or queued, or it has 1,000 events.',
  },
  email_not_resendable: {
    status: 409,
    summary: 'The content or the recipients of the email are no longer stored.',
  },
  email_not_cancellable: { status: 409, summary: 'The email is no longer scheduled or queued.' },
  payload_too_large: { status: 413, summary: 'The body or the attachments exceed the size limit.' },
  unsupported_media_type: { status: 415, summary: 'Only application/json in UTF-8 is accepted.' },
  expectation_failed: { status: 417, summary: 'The Expect header cannot be met.' },
  domain_not_verified: { status: 422, summary: 'The sender domain is unknown to the organization or not verified.' },
  recipient_suppressed: { status: 422, summary: 'Every recipient is suppressed; see details.suppressedRecipients.' },
  template_not_found: { status: 422, summary: 'The organization has no such template, or no such version of it.' },
  template_render_failed: {
    status: 422,
    summary: 'The template cannot be rendered; details.validation names the variables that are missing.',
  },
  idempotency_key_reused: { status: 422, summary: 'The idempotency key was used with another body.' },
  rate_limit_exceeded: { status: 429, summary: 'Too many requests; retry after the seconds in Retry-After.' },
  sending_limit_exceeded: { status: 429, summary: 'A recipient limit (test mode or warm-up) is reached.' },
  headers_too_large: { status: 431, summary: 'The request headers exceed the size limit.' },
  internal_error: { status: 500, summary: 'An unforeseen error; quote the request id.' },
  service_unavailable: {
    status: 503,
    summary: 'The database is away or the service is stopping; retry after the seconds in Retry-After.',
  },
} as const satisfies Record<string, { status: number; summary: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

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
  constructor(what = 'requests') {
    const suggestion = 'Wait for the responses to earlier requests';
    super('rate_limit_exceeded', `Too many ${what} at a time`, { retryAfterSeconds: 1, suggestion });
  }
}

/** 503: the database is away or the process is stopping. */
export class UnavailableError extends AppError {
  constructor(message = 'The service is temporarily unavailable', cause?: unknown, retryAfterSeconds = 1) {
    super('service_unavailable', message, { retryAfterSeconds, cause });
  }
}

/** The connection was lost, or silent for too long, when the commit had been sent: whether the changes are written is unknown. */
export class CommitUnknownError extends UnavailableError {
  constructor(cause: unknown) {
    super('The database is temporarily unavailable', cause);
  }
}

/** What waited for a client that has gone was not begun; nobody reads the response. */
export class ClientGoneError extends UnavailableError {
  constructor() {
    super('The client has disconnected');
  }
}

/** An error that prevents the start, for the operator: the cause and the remedy. Logged as one line, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** What the log says of an error: its message, and for an outage what the driver reports, which a client is not shown. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const isOutage = error instanceof UnavailableError && cause instanceof Error && cause.message !== '';
  return isOutage ? `${message}: ${cause.message}` : message;
}
