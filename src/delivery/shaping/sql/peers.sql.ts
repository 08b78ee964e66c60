// The workers that run, and what they use of common limits.
import type { Statement } from '../../../database/statements/statement';

/** The workers that run, as one of them sees them. */
export interface Peers {
  /** All of them by id, this one included. */
  readonly ids: readonly string[];
  /** All others have confirmed exactly these. */
  readonly isAgreed: boolean;
}

/** After so long a worker of an earlier release, which confirms nothing, has read of the newest one. */
const UNCONFIRMED = `interval '5 seconds'`;

// Which workers run, and whether each other one has confirmed that it leaves them their parts. One of an earlier release
// confirms nothing: then the age of the newest worker decides.
// Reads: worker_sessions (whole: a row for each worker). Locks: none. Rows: one; none for a session that is gone.
// Not the ORM: a comparison of lists, by the server's clock.
const PEERS = `
  with live as materialized (
    select id, peers, started_at from worker_sessions where lease_until > clock_timestamp() or id = $1
  ), known as (
    select array_agg(id order by id) as ids, max(started_at) as newest from live
  )
  select k.ids, not exists (
    select from live l
    where l.id <> $1
      and not coalesce(l.peers = k.ids, k.newest < clock_timestamp() - ${UNCONFIRMED})
  ) as "isAgreed"
  from known k
  where $1 = any (k.ids)`;

/** No row for a session that is gone. */
export function findPeers(sessionId: string): Statement<Peers> {
  return { name: 'find-peers', text: PEERS, values: [sessionId] };
}

// Confirms which workers one has made room for. Writes: worker_sessions (primary key). Locks: its row. Rows: one, and only
// when a worker has come or gone. Not the ORM: it has no repository of this table.
const CONFIRM = `update worker_sessions set peers = $2::uuid[] where id = $1`;

/** To be run only once the worker keeps to its part among them, and what it has beyond that is reported. */
export function confirmPeers(sessionId: string, ids: readonly string[]): Statement<never> {
  return { name: 'confirm-peers', text: CONFIRM, values: [sessionId, ids] };
}

/** What another running worker has under way at a group, and begins there. */
export interface ActiveOf {
  readonly key: string;
  readonly sessionId: string;
  readonly active: number;
  /** Attempts in a minute; 0 where it has begun none lately. */
  readonly perMinute: number;
}

// What live workers other than one have under way, and have begun in the last minutes, at groups that are limited. A group at which
// nothing begins is reported no more, so that an old rate is none.
// Reads: destination_reports (primary key), worker_sessions (whole: a row for each worker). Locks: none. Rows: up to the groups
// times the workers. Not the ORM: a join of two tables, by the server's clock.
const OTHERS_ACTIVE = `
  select r.key, r.session_id as "sessionId", r.active,
    case when r.reported_at > now() - interval '2 minutes' then coalesce(r.per_minute, 0) else 0 end as "perMinute"
  from destination_reports r
  join worker_sessions s on s.id = r.session_id
  where r.key = any ($2::text[]) and r.session_id <> $1 and (r.active > 0 or r.per_minute > 0) and s.lease_until > now()`;

/** Returns what other running workers do at each of the groups; nothing for those that do nothing. */
export function findOthersActive(sessionId: string, keys: readonly string[]): Statement<ActiveOf> {
  return { name: 'find-others-active', text: OTHERS_ACTIVE, values: [sessionId, keys] };
}
