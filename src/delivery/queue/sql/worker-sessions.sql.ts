import type { Statement } from '../../../database/statement';
import type { ClaimedDelivery, DeliveryKey } from '../../ports/delivery';
import { CLAIMED_COLUMNS } from './claim-deliveries.sql';

// A worker session's life: begin, renew, end. Time is the database's own.
// Writes: worker_sessions (primary key). Locks: the session's row. Rows: one.
// Not the ORM: interval arithmetic on the server's clock.
const BEGIN = `
  insert into worker_sessions (id, host, process_id, lease_until)
  values ($1, $2, $3, now() + make_interval(secs => $4))`;

export function beginSession(id: string, host: string, processId: number, leaseSeconds: number): Statement<never> {
  return { name: 'begin-session', text: BEGIN, values: [id, host, processId, leaseSeconds] };
}

const RENEW = `
  update worker_sessions
  set lease_until = now() + make_interval(secs => $2)
  where id = $1 and lease_until > now()
  returning id`;

/** No row: the lease has ended, and others may own the claims by now. */
export function renewSession(id: string, leaseSeconds: number): Statement<{ id: string }> {
  return { name: 'renew-session', text: RENEW, values: [id, leaseSeconds] };
}

const END = `update worker_sessions set lease_until = now() where id = $1`;

/** The next reaper frees what it still holds. */
export function endSession(id: string): Statement<never> {
  return { name: 'end-session', text: END, values: [id] };
}

// What the database says a session holds since before $2: for finding claims that their worker does not know of.
// Reads: deliveries (partial index deliveries_claimed). Locks: none. Rows: those under way in one worker.
// Not the ORM: the queue has no entity.
const FIND_HELD = `
  select ${CLAIMED_COLUMNS}
  from deliveries d
  where d.session_id = $1 and d.state = 'claimed' and d.claimed_at < $2`;

export function findHeldClaims(sessionId: string, claimedBefore: Date): Statement<ClaimedDelivery> {
  return { name: 'find-held-claims', text: FIND_HELD, values: [sessionId, claimedBefore] };
}

// Frees the claims of worker sessions whose lease has ended, a bounded number at a time so that a mass recovery is no storm.
// The attempt is not charged; the crash is counted, so that a mail that kills its worker is found out.
// Writes: deliveries (partial index deliveries_claimed). Locks: rows, skip locked. Rows: up to $1.
// Not the ORM: SKIP LOCKED across a join. Time is the database's own, the one clock that all workers share.
export interface FreedDelivery extends DeliveryKey {
  domainId: string;
  recipient: string;
  attempt: number;
}

const REAP = `
  with orphans as (
    select d.organization_id, d.mode, d.email_id, d.position
    from worker_sessions s
    join deliveries d on d.session_id = s.id and d.state = 'claimed'
    where s.lease_until < now()
    order by d.organization_id, d.mode, d.email_id, d.position
    limit $1
    for update of d skip locked
  )
  update deliveries d
  set state = 'ready', session_id = null, attempt = d.attempt - 1, crashes = d.crashes + 1
  from orphans o
  where d.organization_id = o.organization_id and d.mode = o.mode and d.email_id = o.email_id and d.position = o.position
  returning
    d.organization_id as "organizationId",
    d.mode,
    d.email_id as "emailId",
    d.position,
    d.domain_id as "domainId",
    d.recipient,
    d.attempt + 1 as attempt`;

export function reapSessions(limit: number): Statement<FreedDelivery> {
  return { name: 'reap-sessions', text: REAP, values: [limit] };
}

// Removes dead worker sessions that hold nothing any more; not at once, because a claim that was under way when the lease
// ended must find its session, or no reaper would free it.
// Writes: worker_sessions. Reads: deliveries (partial index deliveries_claimed). Locks: the removed rows. Rows: a few.
// Not the ORM: an anti-join.
const DELETE_DEAD = `
  delete from worker_sessions s
  where s.lease_until < now() - interval '10 minutes'
    and not exists (select 1 from deliveries d where d.session_id = s.id and d.state = 'claimed')`;

export function deleteDeadSessions(): Statement<never> {
  return { name: 'delete-dead-sessions', text: DELETE_DEAD, values: [] };
}

// Wakes idle workers. Outside any transaction on purpose: a notifying commit takes a lock that orders all such commits.
// Tables: none. Locks: the notification queue's. Rows: none.
const NOTIFY = `select pg_notify('waybill_work', '')`;

export function notifyWorkers(): Statement<never> {
  return { name: 'notify-workers', text: NOTIFY, values: [] };
}
