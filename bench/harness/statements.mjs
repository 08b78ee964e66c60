import pg from 'pg';

/** Makes the server time every statement: for `--profile` only, because it slows down what it measures. */
export const STATEMENT_SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  'pg_stat_statements.track_utility': 'on',
};

/** A pool of one connection of the superuser of an embedded cluster, whose roles share one password. */
export function administrator(url) {
  const address = new URL(url);
  address.username = 'postgres';
  const pool = new pg.Pool({ connectionString: address.href, max: 1 });
  pool.on('error', () => undefined);
  return pool;
}

/** Reads the server's statistics of its statements. */
export class StatementTimes {
  constructor(url) {
    this.pool = administrator(url);
  }

  async reset() {
    await this.pool.query('create extension if not exists pg_stat_statements');
    await this.pool.query('select pg_stat_statements_reset()');
  }

  /** Readable lines: the statements that took the most time since the reset, with µs per unit of work. */
  async describe(units, limit = 14) {
    const { rows } = await this.pool.query(
      `select left(regexp_replace(query, '\\s+', ' ', 'g'), 70) as query, calls::int, rows::int, total_exec_time as ms
       from pg_stat_statements where toplevel order by total_exec_time desc limit $1`,
      [limit],
    );
    return rows.map(
      ({ query, calls, rows: count, ms }) =>
        `${((ms * 1_000) / units).toFixed(1).padStart(8)} µs each ${String(calls).padStart(6)} calls ${String(count).padStart(7)} rows ${(ms / calls).toFixed(2).padStart(8)} ms a call  ${query.trim()}`,
    );
  }

  close() {
    return this.pool.end();
  }
}
