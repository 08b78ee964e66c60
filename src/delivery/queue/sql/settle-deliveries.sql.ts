import type { Statement } from '../../../database/statement';
import { type ClaimedDelivery, type DeliveryKey, SUSPECT_CRASHES, type EmailKey } from '../../ports/delivery';
import { READY_STATE } from './suspect-deliveries.sql';

// Takes the results of claimed deliveries: terminal ones leave the queue, the others wait for their next attempt.
// A result counts only with the token of the newest claim (fencing): a worker that lost its lease changes nothing.
// Writes: deliveries (primary key). Locks: rows in primary-key order. Rows: one settle batch.
// An attempt that ended did not crash its worker: earlier crashes are reset.
// The state is checked after the look-up by key: as a condition of it, it tempts the planner to walk the index of all
// claims, dead rows included (0.9 ms of 1.1 ms for 20 rows).
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

/**
 * Makes claims ready again without counting their attempt; claims that another session took over are left unchanged.
 */
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

// Takes an email's deliveries out of the queue before their first attempt.
// Writes: deliveries (primary key). Locks: rows in primary-key order. Rows: the recipients of one email.
// Not the ORM: delete … returning.
const WITHDRAW_EMAIL = `
  delete from deliveries
  where organization_id = $1 and mode = $2 and email_id = $3 and state in ('waiting', 'ready', 'held') and attempt = 0
  returning position`;

/** Removes an email's deliveries that no worker has tried yet, and returns their positions. */
export function withdrawDeliveries(email: EmailKey): Statement<{ position: number }> {
  return {
    name: 'withdraw-deliveries',
    text: WITHDRAW_EMAIL,
    values: [email.organizationId, email.mode, email.emailId],
  };
}

// Takes deliveries out of the queue, whatever attempts were made; those claimed by a worker stay.
// Writes: deliveries (primary key). Locks: rows in primary-key order; a claim under way is waited for. Rows: up to some
// dozens of one erasure's batch.
// Not the ORM: the queue has no entity, and one statement returns which it took and which a worker has.
export interface WithdrawnDelivery {
  emailId: string;
  position: number;
  /** True: a worker has it, and it has not been touched. */
  isClaimed: boolean;
}

const WITHDRAW_RECIPIENTS = `
  with locked as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.state = 'claimed' as is_claimed
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[]) as wanted (organization_id, mode, email_id, position)
    join deliveries d using (organization_id, mode, email_id, position)
    order by d.organization_id, d.mode, d.email_id, d.position
    for update of d
  ), removed as (
    delete from deliveries d
    using locked l
    where not l.is_claimed
      and d.organization_id = l.organization_id and d.mode = l.mode and d.email_id = l.email_id and d.position = l.position
  )
  select email_id as "emailId", position, is_claimed as "isClaimed" from locked`;

/** Returns those that were open. */
export function withdrawRecipients(keys: readonly DeliveryKey[]): Statement<WithdrawnDelivery> {
  return {
    name: 'withdraw-recipients',
    text: WITHDRAW_RECIPIENTS,
    values: [
      keys.map((key) => key.organizationId),
      keys.map((key) => key.mode),
      keys.map((key) => key.emailId),
      keys.map((key) => key.position),
    ],
  };
}

// Moves the first attempt of an email's deliveries, before it has begun. What an operator holds stays held.
// Writes: deliveries (primary key). Locks: the rows of one email; a claim under way is waited for, and then its row is left alone.
// Not the ORM: update … returning, and a state that depends on the one before.
const RESCHEDULE = `
  update deliveries
  set due_at = $4, first_due_at = $4, state = case state when 'held' then 'held' else 'waiting' end
  where organization_id = $1 and mode = $2 and email_id = $3 and state in ('waiting', 'ready', 'held') and attempt = 0
  returning position`;

/** Sets the due time of an email's deliveries that no worker has tried yet, and returns their positions. */
export function rescheduleDeliveries(email: EmailKey, dueAt: Date): Statement<{ position: number }> {
  return {
    name: 'reschedule-deliveries',
    text: RESCHEDULE,
    values: [email.organizationId, email.mode, email.emailId, dueAt],
  };
}
