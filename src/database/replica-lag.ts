import type { Statement } from './statement';

// Reads: no table. Locks: none. Rows: one. Not the ORM: functions of the server.

/** Of a server since its start, and the database on it: the primary by every way, and nothing else. */
const SERVER = `
  extract(epoch from pg_postmaster_start_time()) || '/' || (select oid from pg_database where datname = current_database())`;

/** Where the primary's log ends, and which server it is. */
export function readLogEnd(): Statement<{ logEnd: string; server: string }> {
  const text = `select pg_current_wal_lsn()::text as "logEnd", ${SERVER} as server`;
  return { name: 'read-log-end', text, values: [] };
}

const LAG = `
  select case when pg_is_in_recovery() then least(
    extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()),
    (select min(ago) from unnest($1::pg_lsn[], $2::float8[]) as m (log_end, ago) where log_end <= pg_last_wal_replay_lsn())
  ) else 0 end::float8 as "lagSeconds", pg_is_in_recovery() as "isStandby", ${SERVER} as server`;

/**
 * How far behind the replica is; null before its first commit. That is the age of the newest commit that it has, or, as nothing
 * may have been committed for a while, how long ago the primary's log ended where the replica has come to. A primary has all of it.
 */
export function readLag(
  logEnds: readonly string[],
  ages: readonly number[],
): Statement<{ lagSeconds: number | null; isStandby: boolean; server: string }> {
  return { name: 'read-lag', text: LAG, values: [logEnds, ages] };
}
