import type { Database } from './database.service';
import { unlessDenied } from '../statements/database-errors';
import type { Statement } from '../statements/statement';

/** The same on a primary and its standbys, and at each way to them: the server's identifier, and the database's number within it. */
export const IDENTITY = `
  select system_identifier || '/' || (select oid from pg_database where datname = current_database()) as identity
  from pg_control_system()`;

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

export interface ReplicaPosition {
  readonly lagSeconds: number | null;
  readonly isStandby: boolean;
  /** As of `readLogEnd`. */
  readonly server: string;
}

/**
 * How far behind the replica is; null before its first commit. That is the age of the newest commit that it has, or, as nothing
 * may have been committed for a while, how long ago the primary's log ended where the replica has come to. A primary has all of it.
 */
export function readLag(logEnds: readonly string[], ages: readonly number[]): Statement<ReplicaPosition> {
  return { name: 'read-lag', text: LAG, values: [logEnds, ages] };
}

/** Finds out whether what is read as a replica is one: its lag does not tell. */
export class ReplicaOrigin {
  private identity: string | undefined;
  /** The last server that was found to be a standby of the primary. */
  private known: string | undefined;

  constructor(private readonly primary: Database) {}

  /**
   * Why it is none: an old primary that still runs after a failover, a standby of another installation. Undefined: it is one, as far as
   * anybody may know.
   * @param server the primary's, as of `readLogEnd`
   */
  async faultOf(replica: Database, position: ReplicaPosition, server: string | undefined): Promise<string | undefined> {
    const { isStandby, server: own } = position;
    if (!isStandby) {
      const isPrimary = server === undefined || server === own;
      return isPrimary ? undefined : 'is neither a standby nor the primary';
    }
    if (own === this.known) return undefined;
    this.identity ??= await identityOf(this.primary).catch(() => undefined);
    const identity = await identityOf(replica);
    if (this.identity === undefined || identity === undefined) return undefined;
    if (identity !== this.identity) return 'is a standby of another server, or has another database';
    this.known = own;
    return undefined;
  }
}

/** Of which database a server has a copy; undefined where the user may not read that. */
async function identityOf(database: Database): Promise<string | undefined> {
  const statement: Statement<{ identity: string }> = { name: 'read-identity', text: IDENTITY, values: [] };
  return (await unlessDenied(database.run(statement)))?.[0]?.identity;
}
