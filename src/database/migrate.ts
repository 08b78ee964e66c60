import type { DataSource } from 'typeorm';

/** Any fixed number: two processes that start at once must not migrate at once. */
const MIGRATION_LOCK = 7_241_920_045;

/** Applies what is missing, on an `unhurried` data source of two connections. Safe to call from several processes at the same time. */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await dataSource.runMigrations();
    return applied.map((migration) => migration.name);
  } finally {
    await runner.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await runner.release();
  }
}
