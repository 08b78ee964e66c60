import type { DataSource } from 'typeorm';

/** Any fixed number: two processes that start at once must not migrate at once. */
const MIGRATION_LOCK = 7_241_920_045;

/** Applies what is missing. Safe to call from several processes at the same time. */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query("select set_config('statement_timeout', '0', false)");
    await runner.query("select set_config('lock_timeout', '0', false)");
    await runner.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await dataSource.runMigrations();
    return applied.map((migration) => migration.name);
  } finally {
    await runner.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await runner.query('reset statement_timeout; reset lock_timeout').catch(() => undefined);
    await runner.release();
  }
}
