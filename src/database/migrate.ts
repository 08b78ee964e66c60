import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { applyRowSecurity } from './row-security';
import { RECORD_ORIGIN } from './schema-state';

/** Any fixed number: two processes that start at once must not migrate at once. */
export const MIGRATION_LOCK = 7_241_920_045;

/** Applies what is missing, on an `unhurried` data source of two connections. Safe to call from several processes at the same time. */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await dataSource.runMigrations();
    if (applied.length > 0) await runner.query(RECORD_ORIGIN);
    await applyRowSecurity(runner);
    return applied.map((migration) => migration.name);
  } finally {
    await runner.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await runner.release();
  }
}

/**
 * Runs `work` while no other process does that takes the same lock. The lock lives on a connection of its own: it ends
 * with the process, however that ends, and costs the pool nothing. Waits for as long as it takes.
 *
 * @param lock any fixed number that nothing else uses.
 */
export async function withAdvisoryLock<T>(url: string, lock: number, work: () => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, application_name: 'waybill-lock' });
  // A connection that breaks while `work` runs must not end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [lock]);
    return await work();
  } finally {
    await client.end();
  }
}
