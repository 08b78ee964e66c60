import { AppError, CommitUnknownError, UnavailableError } from '../../common/errors/app-error';

/** SQLSTATE (PostgreSQL appendix A) or Node's error code, of the error or of the driver's error inside it. */
export function databaseErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, driverError } = error as { code?: unknown; driverError?: unknown };
  if (typeof code === 'string') return code;
  return driverError === undefined || driverError === error ? undefined : databaseErrorCode(driverError);
}

/** Waits for the work; an error with one of these codes is none. */
export async function unlessCode(codes: string | readonly string[], work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!codes.includes(databaseErrorCode(error) ?? 'none')) throw error;
  });
}

/** insufficient_privilege */
export const DENIED = '42501';

/** Undefined where the user may not: some providers let nobody read what identifies a server. */
export function unlessDenied<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch((error: unknown) => {
    if (databaseErrorCode(error) === DENIED) return undefined;
    throw error;
  });
}

/**
 * No connection could be opened, whatever the reason: a refused login, a certificate, no route. Nothing has been sent, so it says
 * nothing about the statements that need one.
 */
export class ConnectError extends Error {
  /** As of the driver's error. */
  readonly code: string | undefined;

  constructor(override readonly cause: Error) {
    super(messageOf(cause), { cause });
    this.code = databaseErrorCode(cause);
  }
}

/** Of a name with several addresses, none of which could be connected to, Node has no message but those of each. */
function messageOf(cause: Error): string {
  if (cause.message !== '' || !(cause instanceof AggregateError)) return cause.message;
  return cause.errors.map((error: unknown) => (error instanceof Error ? error.message : String(error))).join('; ');
}

/** The name of the violated constraint, when there is one. */
export function violatedConstraint(error: unknown): string | undefined {
  if (databaseErrorCode(error) !== '23505') return undefined;
  const { constraint, driverError } = error as { constraint?: string; driverError?: { constraint?: string } };
  return constraint ?? driverError?.constraint;
}

/** 40001 serialization failure, 40P01 deadlock: the transaction can simply be run again. */
export function isRetryable(error: unknown): boolean {
  const code = databaseErrorCode(error);
  return code === '40001' || code === '40P01';
}

const UNAVAILABLE_CLASSES = ['08', '53', '57', '58'];
const UNAVAILABLE_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  '55000',
  '55P03',
  '25006',
  // A server's own limits of a transaction, which end the connection.
  '25P03',
  '25P04',
];
/** The driver and its pool name these conditions only in words. */
const UNAVAILABLE_MESSAGE =
  /timeout|connection terminated|terminated unexpectedly|not queryable|connection error|connection is closed|pool after calling end|driver not connected/i;

/**
 * True when the database is away, closed to us, full, starting, stopping or too slow, so that the same call may succeed later. XX000 (internal
 * error) is not among them: the nodes of a distributed database report one row that breaks a constraint by it.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ConnectError) return true;
  const code = databaseErrorCode(error);
  if (code !== undefined) {
    if (UNAVAILABLE_CODES.includes(code)) return true;
    if (/^[0-9A-Z]{5}$/.test(code)) return UNAVAILABLE_CLASSES.includes(code.slice(0, 2));
  }
  return error instanceof Error && !(error instanceof AppError) && UNAVAILABLE_MESSAGE.test(error.message);
}

/**
 * Whether a statement did not end within its time limit, the server's (57014 query_canceled) or this side's, so that one that does less
 * may succeed. Of a database that is away it says nothing.
 */
export function ranOutOfTime(error: unknown): boolean {
  const cause = error instanceof UnavailableError ? error.cause : error;
  return databaseErrorCode(cause) === '57014' || (cause instanceof Error && cause.message === 'Query read timeout');
}

/** Whether another transaction held what a statement needs for longer than it may wait (55P03): others may need nothing of that. */
export function waitedForLock(error: unknown): boolean {
  return databaseErrorCode(error instanceof UnavailableError ? error.cause : error) === '55P03';
}

/** Of an error after the commit has been sent: what the server refuses is not written; of anything else nobody knows. */
export function translateCommitError(error: unknown): unknown {
  return isUnavailable(error) ? new CommitUnknownError(error) : error;
}

/** undefined_table: the schema has been checked at the start, so that the `search_path` leads elsewhere since. */
export const NO_TABLE = '42P01';

/** Turns a driver's error into what the API says; anything else passes unchanged. @param what is unavailable */
export function translateDatabaseError(error: unknown, what = 'The database'): unknown {
  if (error instanceof AppError) return error;
  return isUnavailable(error) || isRetryable(error) || databaseErrorCode(error) === NO_TABLE
    ? new UnavailableError(`${what} is temporarily unavailable`, error)
    : error;
}

/** SQLSTATE class 28 (invalid authorization), 3D000 (no such database): waiting would not help. */
export function isRefusal(error: unknown): boolean {
  return /^(28...|3D000)$/.test(String((error as { code?: unknown }).code));
}

/**
 * A server that does not encrypt, or whose certificate is not trusted: waiting would not help. The driver says the first one in words
 * only; the codes are Node's (TLS/SSL errors, X509 certificate error codes).
 */
export function isTlsFault(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  return /SSL connection/.test(error.message) || /CERT|^UNABLE_TO_|^ERR_(TLS|SSL)_/.test(error.code ?? '');
}
