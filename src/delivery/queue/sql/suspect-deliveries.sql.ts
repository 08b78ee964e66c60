import type { Statement } from '../../../database/statements/statement';
import { ALONE_CRASHES, type ClaimedDelivery, SUSPECT_CRASHES } from '../../ports/delivery';
import { CLAIMED_COLUMNS } from './claim-deliveries.sql';
import { blockedColumn, isNotBlocked } from './ready-destinations.sql';

/**
 * The state of a due delivery `d` that no worker has. A suspect stays `waiting`: ordinary claims do not take it, and neither does
 * the promotion of due deliveries.
 */
export const READY_STATE = `case when d.crashes >= ${SUSPECT_CRASHES} then 'waiting' else 'ready' end`;

/**
 * A worker that tries suspects does nothing else, so only one does at a time. Not bounded by the lease: a worker that crashed
 * on its suspects must not block the others for that long. A trial rarely takes longer; two at a time do no harm.
 */
const NO_OTHER_TRIAL = `not exists (
      select from deliveries o
      where o.state = 'claimed' and o.crashes >= ${SUSPECT_CRASHES} and o.claimed_at > now() - interval '1 second'
        and o.session_id = any(array(select id from worker_sessions where id <> $1 and lease_until > now()))
    )`;

/** Tried together: few, so that a crash leaves few in doubt, and per destination no more than may start at once. */
const TOGETHER = 16;
const OF_ONE_DESTINATION = 4;

// Claims deliveries that are suspected of crashing their workers: some of those that no trial has crashed a worker with, or
// else the oldest of the others, alone. All get the same time of their claim, so that a crash counts for all. A session
// whose lease has ended claims nothing.
// Reads and writes: deliveries (partial indexes deliveries_suspect, deliveries_tried; then the primary key); reads
// worker_sessions (primary key). Locks: the rows, skip locked. Rows: up to 16.
// Not the ORM: SKIP LOCKED inside an update.
const CLAIM_SUSPECTS = `
  with due as materialized (
    select organization_id, mode, email_id, position, destination, due_at, crashes
    from deliveries
    where state = 'waiting' and crashes >= ${SUSPECT_CRASHES} and due_at <= now() and ${isNotBlocked('destination', '$2')}
      and exists (select 1 from worker_sessions where id = $1 and lease_until > now())
      and ${NO_OTHER_TRIAL}
    order by due_at, email_id, position
    limit 1000
  ), ranked as (
    select *, row_number() over (partition by destination order by due_at, email_id, position) as rank
    from due
    where crashes < ${ALONE_CRASHES}
  ), together as materialized (
    select organization_id, mode, email_id, position
    from ranked
    where rank <= ${OF_ONE_DESTINATION}
    order by rank, due_at, email_id, position
    limit ${TOGETHER}
  ), alone as materialized (
    select organization_id, mode, email_id, position
    from due
    where not exists (select from together)
    order by due_at, email_id, position
    limit 1
  ), chosen as materialized (
    select d.organization_id, d.mode, d.email_id, d.position
    from (select * from together union all select * from alone) c
    join deliveries d using (organization_id, mode, email_id, position)
    where d.state = 'waiting'
    for update of d skip locked
  )
  update deliveries d
  set state = 'claimed', session_id = $1, claim_token = d.claim_token + 1, attempt = d.attempt + 1, claimed_at = now()
  from chosen c
  where d.organization_id = c.organization_id and d.mode = c.mode and d.email_id = c.email_id and d.position = c.position
  returning ${CLAIMED_COLUMNS}`;

/** Claims deliveries that crashed workers held: several together, and after another crash one alone. */
export function claimSuspects(sessionId: string, blockedDestinations: readonly string[]): Statement<ClaimedDelivery> {
  return { name: 'claim-suspects', text: CLAIM_SUSPECTS, values: [sessionId, blockedColumn(blockedDestinations)] };
}

// Whether a suspect is due, so that a worker makes room for it.
// Reads: deliveries (partial index deliveries_suspect, all but always empty; then deliveries_tried), worker_sessions.
// Locks: none. Rows: one.
// Not the ORM: the queue has no entity.
const HAS_SUSPECT = `
  select exists (
    select from deliveries
    where state = 'waiting' and crashes >= ${SUSPECT_CRASHES} and due_at <= now() and ${isNotBlocked('destination', '$2')}
  ) and ${NO_OTHER_TRIAL} as "hasSuspect"`;

/** One row: whether a suspect is due, at a destination that is not blocked, while no other worker tries one. */
export function hasSuspect(
  sessionId: string,
  blockedDestinations: readonly string[],
): Statement<{ hasSuspect: boolean }> {
  return { name: 'has-suspect', text: HAS_SUSPECT, values: [sessionId, blockedColumn(blockedDestinations)] };
}
