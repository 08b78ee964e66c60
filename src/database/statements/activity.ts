import type { Statement } from './statement';

/** A connection to this database, of whatever program. */
export interface DatabaseConnection {
  readonly pid: number;
  readonly application: string;
  readonly client: string | null;
  /** `Lock`, `IO`, …; null while it waits for nothing in the server. */
  readonly waitsFor: string | null;
  /** Since its transaction began; null without one. */
  readonly transactionSeconds: number | null;
}

// Who is connected, and what each does: for operators. Without the rights of pg_read_all_stats, other roles' are bare.
// Reads: pg_stat_activity. Locks: none. Rows: one for each connection.
// Not the ORM: a view of the server's.
const ACTIVITY = `
  select pid, coalesce(application_name, '') as application, client_addr::text as client,
    case when state = 'active' then wait_event_type end as "waitsFor",
    floor(extract(epoch from now() - xact_start))::float8 as "transactionSeconds"
  from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
  order by xact_start nulls last, pid`;

export function readActivity(): Statement<DatabaseConnection> {
  return { name: 'read-activity', text: ACTIVITY, values: [] };
}

// Ends a connection to this database, and rolls its transaction back. Fails for other roles without pg_signal_backend.
// Reads: pg_stat_activity. Locks: none. Rows: one, or none without such a connection.
// Not the ORM: a function of the server's.
const END_CONNECTION = `
  select pg_terminate_backend(pid) as "isEnded" from pg_stat_activity
  where pid = $1 and datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`;

export function endConnection(pid: number): Statement<{ readonly isEnded: boolean }> {
  return { name: 'end-connection', text: END_CONNECTION, values: [pid] };
}
