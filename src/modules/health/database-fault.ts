import { AppError } from '../../common/errors/app-error';
import { databaseErrorCode, NO_TABLE } from '../../database/statements/database-errors';

/** read_only_sql_transaction */
export const READ_ONLY = '25006';

export const DATABASE_FAULTS = [
  'timeout',
  'unreachable',
  'unavailable',
  'refused',
  'read-only',
  'no-tables',
  'overloaded',
  'failed',
] as const;

/** Why the database did not reply, without hosts, users or statements: the text is public. */
export type DatabaseFault = (typeof DATABASE_FAULTS)[number];

/** By SQLSTATE, or its class (PostgreSQL appendix A), or Node's code. */
const FAULTS: Readonly<Record<string, DatabaseFault>> = {
  '08': 'unreachable',
  [READ_ONLY]: 'read-only',
  [NO_TABLE]: 'no-tables',
  '28': 'refused',
  '3D': 'refused',
  '53': 'overloaded',
  // object_not_in_prerequisite_state: not currently accepting connections.
  '55000': 'refused',
  '57014': 'timeout',
  // operator_intervention: starting, stopping, recovering.
  '57': 'unavailable',
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  EPIPE: 'unreachable',
  ENOENT: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'timeout',
};

/** Errors that the driver identifies by message only. */
const BY_MESSAGE: readonly (readonly [pattern: RegExp, fault: DatabaseFault])[] = [
  [/timeout/i, 'timeout'],
  [/connection terminated|not queryable|connection error/i, 'unreachable'],
];

/** The kind of a database error, by SQLSTATE, else by its message. */
export function databaseFault(error: unknown): DatabaseFault {
  if (error instanceof AppError && error.cause !== undefined) return databaseFault(error.cause);
  const code = databaseErrorCode(error) ?? '';
  const known = FAULTS[code] ?? (code.length === 5 ? FAULTS[code.slice(0, 2)] : undefined);
  if (known) return known;
  const message = error instanceof Error ? error.message : '';
  return BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ?? 'failed';
}
