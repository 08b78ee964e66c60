import type { Statement } from '../../../database/statement';
import { type ClaimedDelivery, SUSPECT_CRASHES } from '../../ports/delivery';
import { CLAIMED_COLUMNS } from './claim-deliveries.sql';

/**
 * What a delivery `d` is when no worker has it and it is due. A suspect goes on waiting: no claim of many takes it, nor does
 * the promotion of what is due.
 */
export const READY_STATE = `case when d.crashes >= ${SUSPECT_CRASHES} then 'waiting' else 'ready' end`;

/**
 * A worker that tries a suspect begins nothing else, so one does at a time. Not by the lease: a worker that has died of its
 * suspect must not keep the others from trying theirs for so long.
 */
const NO_OTHER_TRIAL = `not exists (
      select from worker_sessions s
      join deliveries o on o.session_id = s.id and o.state = 'claimed'
      where s.id <> $1 and s.lease_until > now()
        and o.crashes >= ${SUSPECT_CRASHES} and o.claimed_at > now() - interval '3 seconds'
    )`;

// Claims one delivery that is suspected of killing its workers, to be tried alone. A session whose lease has ended claims
// nothing.
// Reads and writes: deliveries (partial indexes deliveries_suspect, deliveries_claimed); reads worker_sessions (primary key).
// Locks: the row, skip locked. Rows: one.
// Not the ORM: SKIP LOCKED inside an update.
const CLAIM_SUSPECT = `
  with suspect as (
    select organization_id, mode, email_id, position
    from deliveries
    where state = 'waiting' and crashes >= ${SUSPECT_CRASHES} and due_at <= now() and not destination = any($2::text[])
      and exists (select 1 from worker_sessions where id = $1 and lease_until > now())
      and ${NO_OTHER_TRIAL}
    order by due_at, email_id, position
    limit 1
    for update skip locked
  )
  update deliveries d
  set state = 'claimed', session_id = $1, claim_token = d.claim_token + 1, attempt = d.attempt + 1,
    claimed_at = clock_timestamp()
  from suspect s
  where d.organization_id = s.organization_id and d.mode = s.mode and d.email_id = s.email_id and d.position = s.position
  returning ${CLAIMED_COLUMNS}`;

export function claimSuspect(sessionId: string, blockedDestinations: readonly string[]): Statement<ClaimedDelivery> {
  return { name: 'claim-suspect', text: CLAIM_SUSPECT, values: [sessionId, blockedDestinations] };
}

// Whether a suspect is due, so that a worker makes room for it.
// Reads: deliveries (partial index deliveries_suspect, all but always empty; then deliveries_claimed), worker_sessions.
// Locks: none. Rows: one.
// Not the ORM: the queue's entity is not read.
const HAS_SUSPECT = `
  select exists (
    select from deliveries
    where state = 'waiting' and crashes >= ${SUSPECT_CRASHES} and due_at <= now() and not destination = any($2::text[])
      and ${NO_OTHER_TRIAL}
  ) as "hasSuspect"`;

export function hasSuspect(
  sessionId: string,
  blockedDestinations: readonly string[],
): Statement<{ hasSuspect: boolean }> {
  return { name: 'has-suspect', text: HAS_SUSPECT, values: [sessionId, blockedDestinations] };
}
