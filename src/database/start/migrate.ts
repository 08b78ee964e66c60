import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import { SECOND } from '../../common/clock';
import { ConfigurationError } from '../../config/load-config';
import { LIFT_TIME_LIMITS } from '../pool/data-source';
import { databaseErrorCode } from '../statements/database-errors';
import { DriverClient } from '../statements/driver-client';
import { applyRowSecurity } from '../statements/row-security';
import { findMisplaced, type Reader, readApplied, recordOrigin } from '../schema/schema-state';

/** Any fixed number: two processes that start at once must not migrate at once. */
export const MIGRATION_LOCK = 7_241_920_045;

/** lock_not_available: another transaction has used the table for longer than a migration waits. */
const LOCKED = '55P03';

const LOCK_POLL_MS = 200;

export interface MigrateOptions {
  /** Receives what takes time. */
  readonly log?: (message: string) => void;
  /** How often a migration asks for locks that others hold, and how long it lets them work in between. */
  readonly attempts?: number;
  readonly pauseMs?: number;
}

/**
 * Applies what is missing, on a data source `withoutTimeLimits` of two connections; returns the names. Safe to call from several
 * processes at the same time.
 *
 * @throws ConfigurationError where the tables are in another schema than the first one of the `search_path`
 */
export async function migrate(dataSource: DataSource, options: MigrateOptions = {}): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    await takeMigrationLock(runner);
    const reader = readerOf(runner);
    const misplaced = await findMisplaced(reader);
    if (misplaced !== undefined) throw new ConfigurationError([`DATABASE_URL: ${misplaced}`]);
    const before = await readApplied(reader);
    try {
      await applyPatiently(dataSource, options);
    } catch (error) {
      await recordOrigin(reader, before).catch(() => undefined);
      throw error;
    }
    await recordOrigin(reader, before);
    await applyRowSecurity(runner);
    return (await readApplied(reader)).filter((name) => !before.includes(name));
  } finally {
    await runner.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await runner.release();
  }
}

/** Asks again and again: to wait in a statement would be to hold a snapshot, for which an index that is built meanwhile waits. */
async function takeMigrationLock(runner: QueryRunner): Promise<void> {
  for (;;) {
    const rows = (await runner.query('select pg_try_advisory_lock($1) as taken', [MIGRATION_LOCK])) as {
      taken: boolean;
    }[];
    if (rows[0]?.taken) return;
    await delay(LOCK_POLL_MS);
  }
}

/** What is applied stays so: another attempt begins with the migration that did not get its locks. */
async function applyPatiently(dataSource: DataSource, options: MigrateOptions): Promise<void> {
  const { log = () => undefined, attempts = 30, pauseMs = 3 * SECOND } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await dataSource.runMigrations();
      return;
    } catch (error) {
      if (databaseErrorCode(error) !== LOCKED || attempt >= attempts) throw error;
      log('a migration waits for a table that a long transaction of another session holds; trying again');
      await delay(pauseMs);
    }
  }
}

function readerOf(runner: QueryRunner): Reader {
  return { query: async (text: string) => ({ rows: (await runner.query(text)) as never[] }) };
}

/**
 * Runs `work` while no other process does that takes the same lock. The lock lives on a connection of its own: it ends
 * with the process, however that ends, and costs the pool nothing. Waits for as long as it takes.
 *
 * @param lock any fixed number that nothing else uses.
 */
export async function withAdvisoryLock<T>(url: string, lock: number, work: () => Promise<T>): Promise<T> {
  const client = new DriverClient({ connectionString: url, application_name: 'waybill-lock' });
  // A connection that breaks while `work` runs must not end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(LIFT_TIME_LIMITS);
    await client.query('select pg_advisory_lock($1)', [lock]);
    return await work();
  } finally {
    await client.leave();
  }
}
