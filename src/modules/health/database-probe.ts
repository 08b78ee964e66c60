import type { OnApplicationShutdown } from '@nestjs/common';
import { Client } from 'pg';
import { type Clock, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { databaseErrorCode } from '../../database/database-errors';

const TIMEOUT_MS = 2 * SECOND;
/** True on a standby too: after a failover the address may still point at the former primary. */
const WRITABLE = `select current_setting('transaction_read_only') = 'on' as "isReadOnly"`;
/** read_only_sql_transaction */
const READ_ONLY = '25006';

export interface DatabaseHealth {
  readonly healthy: boolean;
  readonly latencyMs: number;
  /** Absent when healthy. */
  readonly error?: DatabaseFault;
}

/**
 * Queries the database, on a connection apart from the pool: a busy pool does not mean a failing database.
 *
 * No connection → opened at the first check and kept; lost, or late with a reply → no connection. A check that finds its kept
 * connection lost opens another, so that a recovered database is not reported as unavailable. Concurrent callers share one
 * check, so that any number of them costs one statement at a time.
 */
export class DatabaseProbe implements OnApplicationShutdown {
  private client: Client | undefined;
  private running: Promise<DatabaseHealth> | undefined;

  constructor(
    private readonly url: string,
    private readonly clock: Clock,
    private readonly timeoutMs = TIMEOUT_MS,
  ) {}

  /** Never rejects; takes little longer than the time limit. */
  check(): Promise<DatabaseHealth> {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  onApplicationShutdown(): void {
    if (this.client) this.discard(this.client);
  }

  private async run(): Promise<DatabaseHealth> {
    const startedMs = this.clock.monotonicMs();
    const elapsedMs = (): number => Math.round(this.clock.monotonicMs() - startedMs);
    // Zero would mean "no limit" to the driver.
    const leftMs = (): number => Math.max(1, this.timeoutMs - elapsedMs());
    try {
      await this.query(leftMs);
      return { healthy: true, latencyMs: elapsedMs() };
    } catch (error) {
      return { healthy: false, latencyMs: elapsedMs(), error: databaseFault(error) };
    }
  }

  private async query(leftMs: () => number): Promise<void> {
    if (this.client && (await this.isAlive(this.client, leftMs()))) return;
    await this.ping(await this.open(leftMs()), leftMs());
  }

  /** @returns false when the connection is lost. @throws when the reply is late: another connection would be no faster. */
  private async isAlive(client: Client, timeoutMs: number): Promise<boolean> {
    try {
      await this.ping(client, timeoutMs);
      return true;
    } catch (error) {
      if (databaseFault(error) === 'timeout') throw error;
      return false;
    }
  }

  private async ping(client: Client, timeoutMs: number): Promise<void> {
    try {
      const query = { text: WRITABLE, query_timeout: timeoutMs };
      const { rows } = await client.query<{ isReadOnly: boolean }>(query);
      if (rows[0]?.isReadOnly) throw Object.assign(new Error('the database is read-only'), { code: READ_ONLY });
    } catch (error) {
      this.discard(client);
      throw error;
    }
  }

  private async open(timeoutMs: number): Promise<Client> {
    const client = new Client({
      connectionString: this.url,
      application_name: 'waybill-health',
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
    });
    client.on('error', () => this.discard(client));
    client.on('end', () => this.discard(client));
    try {
      await client.connect();
    } catch (error) {
      this.discard(client);
      throw error;
    }
    this.client = client;
    return client;
  }

  /** Closes a connection without waiting, and without keeping the process alive: a database that hangs does not close its end either. */
  private discard(client: Client): void {
    if (this.client === client) this.client = undefined;
    // `unref` is missing in the driver's types.
    (client as Client & { unref(): void }).unref();
    void client.end().catch(() => undefined);
  }
}

export const DATABASE_FAULTS = [
  'timeout',
  'unreachable',
  'unavailable',
  'refused',
  'read-only',
  'overloaded',
  'failed',
] as const;

/** Why the database did not reply, without hosts, users or statements: the text is public. */
export type DatabaseFault = (typeof DATABASE_FAULTS)[number];

/** By SQLSTATE, or its class (PostgreSQL appendix A), or Node's code. */
const FAULTS: Readonly<Record<string, DatabaseFault>> = {
  '08': 'unreachable',
  [READ_ONLY]: 'read-only',
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
