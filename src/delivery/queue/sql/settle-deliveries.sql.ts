import type { Statement } from '../../../database/statement';
import { type ClaimedDelivery, type DeliveryKey, SUSPECT_CRASHES } from '../../ports/delivery';
import { READY_STATE } from './suspect-deliveries.sql';

// Takes the results of claimed deliveries: terminal ones leave the queue, the others wait for their next attempt.
// A result counts only with the token of the newest claim (fencing): a worker that lost its lease changes nothing.
// Writes: deliveries (primary key). Locks: rows in primary-key order. Rows: one settle batch.
// An attempt that came to its end has not killed its worker: crashes before it are forgotten.
// The state is checked after the look-up by key: as a condition of it, it tempts the planner to walk the index of all
// claims, dead ones included (0.9 ms of 1.1 ms for 20 rows).
// Not the ORM: delete, update and fencing for a whole batch in one round trip.
const SETTLE = `
  with results as (
    select *
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::int[], $6::timestamptz[], $8::int[])
      with ordinality as r (organization_id, mode, email_id, position, claim_token, next_attempt_at, attempt, ordinality)
  ), locked as materialized (
    select
      d.organization_id, d.mode, d.email_id, d.position, d.state,
      d.claim_token = r.claim_token as is_newest, r.next_attempt_at, r.attempt, r.ordinality,
      case when r.attempt = d.attempt then 0 else d.crashes end as crashes
    from deliveries d
    join results r using (organization_id, mode, email_id, position)
    order by d.organization_id, d.mode, d.email_id, d.position
    for update of d
  ), held as materialized (
    select * from locked where state = 'claimed' and is_newest
  ), removed as (
    delete from deliveries d
    using held h
    where h.next_attempt_at is null
      and d.organization_id = h.organization_id and d.mode = h.mode and d.email_id = h.email_id and d.position = h.position
  ), postponed as (
    update deliveries d
    set state = case when h.next_attempt_at > $7 or h.crashes >= ${SUSPECT_CRASHES} then 'waiting' else 'ready' end,
      due_at = h.next_attempt_at,
      attempt = h.attempt,
      crashes = h.crashes,
      session_id = null
    from held h
    where h.next_attempt_at is not null
      and d.organization_id = h.organization_id and d.mode = h.mode and d.email_id = h.email_id and d.position = h.position
  )
  select ordinality::int - 1 as index from held`;

/** Returns the indexes of the results that were taken. */
export function settleDeliveries(results: readonly SettledDelivery[], now: Date): Statement<{ index: number }> {
  return {
    name: 'settle-deliveries',
    text: SETTLE,
    values: [
      results.map((result) => result.organizationId),
      results.map((result) => result.mode),
      results.map((result) => result.emailId),
      results.map((result) => result.position),
      results.map((result) => result.claimToken),
      results.map((result) => result.nextAttemptAt),
      now,
      results.map((result) => result.attempt),
    ],
  };
}

/** What becomes of a claimed delivery in the queue. */
export interface SettledDelivery extends DeliveryKey {
  readonly claimToken: number;
  /** How many attempts have been made: one fewer than claims when the last made none. */
  readonly attempt: number;
  /** Null: it is over, and the row leaves the queue. */
  readonly nextAttemptAt: Date | null;
}

// Gives back claims whose attempt has not begun; it is not charged.
// Writes: deliveries (primary key). Locks: rows in primary-key order. Rows: what a stopping worker had not started.
// Not the ORM: fencing by token for a whole batch.
const RELEASE = `
  with given as (
    select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::int[])
      as g (organization_id, mode, email_id, position, claim_token)
  ), locked as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.state, d.claim_token = g.claim_token as is_newest
    from deliveries d
    join given g using (organization_id, mode, email_id, position)
    order by d.organization_id, d.mode, d.email_id, d.position
    for update of d
  ), held as materialized (
    select * from locked where state = 'claimed' and is_newest
  )
  update deliveries d
  set state = ${READY_STATE}, session_id = null, attempt = d.attempt - 1
  from held h
  where d.organization_id = h.organization_id and d.mode = h.mode and d.email_id = h.email_id and d.position = h.position`;

export function releaseDeliveries(claims: readonly ClaimedDelivery[]): Statement<never> {
  return {
    name: 'release-deliveries',
    text: RELEASE,
    values: [
      claims.map((claim) => claim.organizationId),
      claims.map((claim) => claim.mode),
      claims.map((claim) => claim.emailId),
      claims.map((claim) => claim.position),
      claims.map((claim) => claim.claimToken),
    ],
  };
}
