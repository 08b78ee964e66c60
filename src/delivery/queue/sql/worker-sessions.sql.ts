import { RELEASE } from '../../../common/release';
import type { Statement } from '../../../database/statements/statement';
import { type ClaimedDelivery, type DeliveryKey, SUSPECT_CRASHES } from '../../ports/delivery';
import { CLAIMED_COLUMNS } from './claim-deliveries.sql';
import { READY_STATE } from './suspect-deliveries.sql';

/** How long the database has replied without a gap in which a running worker could have lost its lease. */
export interface Watch {
  readonly watchedSeconds: number;
}

const WATCHED_SECONDS = `extract(epoch from now() - watched_since)::float8 as "watchedSeconds"`;

/**
 * Since when the workers together have watched the database: the earliest value of those that renewed within half a lease, this
 * one included; else now. A running worker renews every third of its lease, so no shorter gap loses the lease. What lies ahead was
 * written before the database's clock was set back, and says nothing: nobody would have watched until that time comes.
 */
function watchedSince(leaseSeconds: string): string {
  const gap = `make_interval(secs => ${leaseSeconds}::float8 / 2)`;
  const isRecent = `w.renewed_at > now() - ${gap} and w.watched_since <= now()`;
  return `coalesce((select min(w.watched_since) from worker_sessions w where ${isRecent}), now())`;
}

// A worker session's life: begin, renew, end. Time is the database's own.
// Writes: worker_sessions (primary key), reads the others, one for each worker. Locks: the session's row. Rows: one.
// Not the ORM: interval arithmetic on the server's clock.
const BEGIN = `
  insert into worker_sessions (id, host, process_id, version, lease_until, watched_since, peers)
  values ($1, $2, $3, $5, now() + make_interval(secs => $4), ${watchedSince('$4')}, '{}')
  returning ${WATCHED_SECONDS}`;

/**
 * Starts a worker's session with a lease.
 * @param host the machine's name, for operators
 * @param leaseSeconds from now
 */
export function beginSession(id: string, host: string, processId: number, leaseSeconds: number): Statement<Watch> {
  return { name: 'begin-session', text: BEGIN, values: [id, host, processId, leaseSeconds, RELEASE] };
}

const RENEW = `
  update worker_sessions
  set lease_until = now() + make_interval(secs => $2), renewed_at = now(), watched_since = ${watchedSince('$2')}
  where id = $1 and lease_until > now()
  returning ${WATCHED_SECONDS}`;

/** No row: the lease has ended, and others may own the claims by now. */
export function renewSession(id: string, leaseSeconds: number): Statement<Watch> {
  return { name: 'renew-session', text: RENEW, values: [id, leaseSeconds] };
}

// Ends a session: it releases the claims that it still holds, because the reaper would count a crash for each.
// Writes: worker_sessions, deliveries (partial index deliveries_claimed). Locks: deliveries in primary-key order, and the
// session's row. Rows: the claims that a stopping worker could not release.
// Not the ORM: two tables in one statement.
const END = `
  with held as materialized (
    select organization_id, mode, email_id, position
    from deliveries
    where session_id = $1 and state = 'claimed'
    order by organization_id, mode, email_id, position
    for update
  ), released as (
    update deliveries d
    set state = ${READY_STATE}, session_id = null, attempt = d.attempt - 1
    from held h
    where d.organization_id = h.organization_id and d.mode = h.mode and d.email_id = h.email_id and d.position = h.position
  )
  update worker_sessions set lease_until = now() where id = $1`;

/** Ends a session and releases the claims that it still holds, without counting their attempts. */
export function endSession(id: string): Statement<never> {
  return { name: 'end-session', text: END, values: [id] };
}

// How long the leases of some sessions last.
// Reads: worker_sessions (primary key). Locks: none. Rows: those whose journals lie in one directory.
// Not the ORM: the server's clock.
const FIND_LEASES = `
  select id, extract(epoch from lease_until - now())::float8 as "secondsLeft"
  from worker_sessions
  where id = any($1::uuid[])`;

/** A session that ended has no row. */
export function findLeases(ids: readonly string[]): Statement<{ id: string; secondsLeft: number }> {
  return { name: 'find-leases', text: FIND_LEASES, values: [ids] };
}

// What a session holds since before $2, to find claims that are missing in their worker.
// Reads: deliveries (partial index deliveries_claimed). Locks: none. Rows: those under way in one worker.
// Not the ORM: the queue has no entity.
const FIND_HELD = `
  select ${CLAIMED_COLUMNS}
  from deliveries d
  where d.session_id = $1 and d.state = 'claimed' and d.claimed_at < $2`;

/** Returns what a session has had claimed since before that time. */
export function findHeldClaims(sessionId: string, claimedBefore: Date): Statement<ClaimedDelivery> {
  return { name: 'find-held-claims', text: FIND_HELD, values: [sessionId, claimedBefore] };
}

// Frees the claims of worker sessions whose lease has ended, a bounded number at a time so that a mass recovery is no storm.
// The attempt is not charged; the crash is, so that a mail that kills its worker is found out: to the suspects that were
// being tried (those of the last claim), and only to them; without any to all, who become suspects the second time.
// Reads: worker_sessions. Writes: deliveries (partial indexes deliveries_claimed and deliveries_tried). Locks: rows, skip locked, suspects last and
// in the order of their claims, so that the last ones are there to take the blame when a session is freed in several turns.
// Rows: up to $1.
// Not the ORM: SKIP LOCKED inside an update.
export interface FreedDelivery extends DeliveryKey {
  readonly domainId: string;
  readonly recipient: string;
  /** The attempt that the crash ended. */
  readonly attempt: number;
}

const REAP = `
  with orphans as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.session_id, d.crashes, d.claimed_at
    from deliveries d
    where d.session_id = any(array(select id from worker_sessions where lease_until < now())) and d.state = 'claimed'
    order by
      d.crashes >= ${SUSPECT_CRASHES},
      case when d.crashes >= ${SUSPECT_CRASHES} then d.claimed_at end,
      d.organization_id, d.mode, d.email_id, d.position
    limit $1
    for update of d skip locked
  ), tried as materialized (
    select d.session_id, max(d.claimed_at) as claimed_at
    from deliveries d
    where d.state = 'claimed' and d.crashes >= ${SUSPECT_CRASHES}
      and d.session_id = any(array(select distinct session_id from orphans))
    group by d.session_id
  ), charged as materialized (
    select o.*, (
      t.session_id is null or (o.crashes >= ${SUSPECT_CRASHES} and o.claimed_at = t.claimed_at)
    )::int as charge
    from orphans o
    left join tried t using (session_id)
  )
  update deliveries d
  set state = case when d.crashes + c.charge >= ${SUSPECT_CRASHES} then 'waiting' else 'ready' end,
    session_id = null, attempt = d.attempt - 1, crashes = d.crashes + c.charge
  from charged c
  where d.organization_id = c.organization_id and d.mode = c.mode and d.email_id = c.email_id and d.position = c.position
  returning
    d.organization_id as "organizationId",
    d.mode,
    d.email_id as "emailId",
    d.position,
    d.domain_id as "domainId",
    d.recipient,
    d.attempt + 1 as attempt`;

/**
 * Frees claims of sessions whose lease has ended, and returns them with the attempt that was interrupted.
 * @param limit how many claims at a time
 */
export function reapSessions(limit: number): Statement<FreedDelivery> {
  return { name: 'reap-sessions', text: REAP, values: [limit] };
}

// The running worker processes with their claims, for the operator.
// Reads: worker_sessions, deliveries (partial index deliveries_claimed). Locks: none. Rows: one for each worker.
// Not the ORM: counts by a lateral look-up, on the server's clock.
export interface LiveWorker {
  id: string;
  host: string;
  pid: number;
  /** Null: a release that did not report it. */
  version: string | null;
  startedAt: Date;
  leaseUntil: Date;
  inFlight: number;
}

const LIST_LIVE = `
  select s.id, s.host, s.process_id as pid, s.version, s.started_at as "startedAt", s.lease_until as "leaseUntil",
    (select count(*)::int from deliveries d where d.session_id = s.id and d.state = 'claimed') as "inFlight"
  from worker_sessions s
  where s.lease_until > clock_timestamp()
  order by s.started_at, s.id`;

/** Returns the workers with a lease, the oldest first. */
export function listLiveWorkers(): Statement<LiveWorker> {
  return { name: 'list-live-workers', text: LIST_LIVE, values: [] };
}

// Removes dead worker sessions that hold nothing any more; not at once, because a claim that was under way when the lease
// ended must find its session, or no reaper would free it.
// Writes: worker_sessions. Reads: deliveries (partial index deliveries_claimed). Locks: the removed rows. Rows: a few.
// Not the ORM: an anti-join.
const DELETE_DEAD = `
  delete from worker_sessions s
  where s.lease_until < now() - interval '10 minutes'
    and not exists (select 1 from deliveries d where d.session_id = s.id and d.state = 'claimed')`;

/** Deletes sessions without claims whose lease ended ten minutes ago. */
export function deleteDeadSessions(): Statement<never> {
  return { name: 'delete-dead-sessions', text: DELETE_DEAD, values: [] };
}

// Leases that were renewed ahead of now: the database's clock has been set back since, and that of a worker which is killed would
// last as much longer. Each gets its own length, from now on. A worker that runs counts its lease by its own monotonic clock, which
// ends no later, and renews before.
// Writes: worker_sessions. Locks: the changed rows, skip locked. Rows: a few; none unless the clock was set back.
// Not the ORM: the server's clock, and SKIP LOCKED inside an update.
const BOUND_LEASES = `
  with ahead as materialized (
    select id from worker_sessions where renewed_at > now() + interval '1 second' for update skip locked
  )
  update worker_sessions s
  set lease_until = now() + (s.lease_until - s.renewed_at), renewed_at = now()
  from ahead a
  where s.id = a.id`;

/** Makes leases that a clock set back has prolonged end when they would have ended had they been renewed now. */
export function boundLeases(): Statement<never> {
  return { name: 'bound-leases', text: BOUND_LEASES, values: [] };
}

// Wakes idle workers. Outside any transaction on purpose: a notifying commit takes a lock that orders all such commits.
// Tables: none. Locks: the notification queue's. Rows: none.
const NOTIFY = `select pg_notify('waybill_work', $1)`;

/** Wakes workers that listen. @param payload as the listeners expect it, under 8,000 bytes (a limit of Postgres) */
export function notifyWorkers(payload: string): Statement<never> {
  return { name: 'notify-workers', text: NOTIFY, values: [payload] };
}
