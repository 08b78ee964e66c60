import { AppError } from '../../common/errors/app-error';
import { databaseErrorCode } from '../../database/database-errors';

export const DATABASE_FAULTS = ['timeout', 'unreachable', 'unavailable', 'refused', 'overloaded', 'failed'] as const;

/** Why the database did not answer, in words without hosts, users or statements: anyone may read them. */
export type DatabaseFault = (typeof DATABASE_FAULTS)[number];

/** By SQLSTATE, or its class (PostgreSQL appendix A), or Node's code. */
const FAULTS: Readonly<Record<string, DatabaseFault>> = {
  '08': 'unreachable',
  '28': 'refused',
  '3D': 'refused',
  '53': 'overloaded',
  // Not currently accepting connections.
  '55000': 'refused',
  '57014': 'timeout',
  // Starting, stopping, recovering.
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

/** The driver names these only in words. */
const BY_MESSAGE: readonly (readonly [pattern: RegExp, fault: DatabaseFault])[] = [
  [/timeout/i, 'timeout'],
  [/connection terminated|not queryable|connection error/i, 'unreachable'],
];

export function databaseFault(error: unknown): DatabaseFault {
  if (error instanceof AppError && error.cause !== undefined) return databaseFault(error.cause);
  const code = databaseErrorCode(error) ?? '';
  const known = FAULTS[code] ?? (code.length === 5 ? FAULTS[code.slice(0, 2)] : undefined);
  if (known) return known;
  const message = error instanceof Error ? error.message : '';
  return BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ?? 'failed';
}
