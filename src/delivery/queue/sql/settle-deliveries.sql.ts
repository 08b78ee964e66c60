import type { Statement } from '../../../database/statements/statement';
import { type ClaimedDelivery, type DeliveryKey, SUSPECT_CRASHES, type EmailKey } from '../../ports/delivery';
import { READY_STATE } from './suspect-deliveries.sql';

// Takes the results of claimed deliveries: terminal ones leave the queue, the others wait for their next attempt.
// A result counts only with the token of the newest claim (fencing): a worker whose claim has passed on changes nothing. The delivery must
// still be claimed, except for an acceptance: when the claim has been freed and nobody has claimed it since, the next attempt would be a copy.
// Writes: deliveries (primary key). Locks: the rows that it deletes, in primary-key order, then those that it updates, in
// primary-key order; a row that another transaction has locked is compared again once it is free. Rows: one settle batch.
// It does not lock all rows first: each lock is a record of its own in the write-ahead log. With a transaction that locks rows of both
// kinds it can therefore deadlock; the transaction then runs again (docs/a-mails-life.md, The order of locks).
// An attempt that ended did not crash its worker: earlier crashes are reset.
// The state is compared as an expression: with a plain condition the planner may scan the index of all claims, dead rows
// included (0.9 ms of 1.1 ms for 20 rows).
// Not the ORM: delete, update and fencing for a whole batch in one round trip.
const IS_NEWEST_CLAIM = `
      d.organization_id = r.organization_id and d.mode = r.mode and d.email_id = r.email_id and d.position = r.position
      and d.claim_token = r.claim_token`;

const IS_CLAIMED = `coalesce(d.state, '') = 'claimed'`;

const CRASHES_LEFT = 'case when r.attempt = d.attempt then 0 else d.crashes end';

const SETTLE = `
  with results as materialized (
    select *
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::int[], $6::timestamptz[], $8::int[],
      $9::boolean[], $10::boolean[])
      with ordinality as r (
        organization_id, mode, email_id, position, claim_token, next_attempt_at, attempt, is_acceptance, is_refusal, ordinality
      )
    order by organization_id, mode, email_id, position
  ), removed as (
    delete from deliveries d
    using results r
    where r.next_attempt_at is null and ${IS_NEWEST_CLAIM}
      and (r.is_acceptance or ${IS_CLAIMED})
    returning r.ordinality
  ), postponed as (
    update deliveries d
    set state = case when r.next_attempt_at > $7 or ${CRASHES_LEFT} >= ${SUSPECT_CRASHES} then 'waiting' else 'ready' end,
      due_at = r.next_attempt_at,
      attempt = r.attempt,
      crashes = ${CRASHES_LEFT},
      refusals = d.refusals + r.is_refusal::int,
      session_id = null
    from results r
    where r.next_attempt_at is not null and ${IS_NEWEST_CLAIM}
      and ${IS_CLAIMED}
    returning r.ordinality
  )
  select ordinality::int - 1 as index from removed
  union all
  select ordinality::int - 1 as index from postponed`;

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
      results.map((result) => result.isAcceptance === true),
      results.map((result) => result.isRefusal === true),
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
  /** The receiver has taken the mail: this counts as well when the claim has been freed, while nobody has claimed it since. */
  readonly isAcceptance?: boolean;
  /** It is tried again after a permanent refusal, which counts. */
  readonly isRefusal?: boolean;
}

// Puts a delivery aside whose result cannot be stored. As a result it counts only with the token of the newest claim.
// Writes: deliveries (primary key). Locks: its row. Rows: one. Not the ORM: fencing by token.
const PUT_ASIDE = `
  update deliveries d
  set state = 'held', held_at = now(), held_reason = $7, session_id = null
  where organization_id = $1 and mode = $2 and email_id = $3 and position = $4 and claim_token = $5
    and (${IS_CLAIMED} or ($6::boolean and state <> 'held'))`;

/** A delivery whose result cannot be stored. */
export interface UnstoredDelivery extends DeliveryKey {
  readonly claimToken: number;
  readonly isAcceptance: boolean;
  /** For people. */
  readonly reason: string;
}

/** Holds a delivery, so that no worker claims it; unchanged when another worker has claimed it since. */
export function putAsideDelivery(unstored: UnstoredDelivery): Statement<never> {
  const { organizationId, mode, emailId, position, claimToken, isAcceptance, reason } = unstored;
  const values = [organizationId, mode, emailId, position, claimToken, isAcceptance, reason];
  return { name: 'put-aside-delivery', text: PUT_ASIDE, values };
}

// Gives back claims whose attempt has not begun; it is not charged.
// Writes: deliveries (primary key). Locks: rows in primary-key order, but for those whose claim has passed on: their worker may be
// settling them, first those that have ended, and both would wait for each other. Rows: what a stopping worker had not started.
// Not the ORM: fencing by token for a whole batch.
const RELEASE = `
  with given as (
    select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::int[])
      as g (organization_id, mode, email_id, position, claim_token)
  ), locked as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.state
    from deliveries d
    join given g using (organization_id, mode, email_id, position, claim_token)
    order by d.organization_id, d.mode, d.email_id, d.position
    for update of d
  ), held as materialized (
    select * from locked where state = 'claimed'
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

// Moves the first attempt of an email's deliveries, before it has begun, and with it the end of a life that the request has not set. What
// an operator holds stays held.
// Writes: deliveries (primary key). Locks: the rows of one email; a claim under way is waited for, and then its row is left alone.
// Not the ORM: update … returning, and a state that depends on the one before.
const RESCHEDULE = `
  update deliveries
  set due_at = $4, first_due_at = $4, state = case state when 'held' then 'held' else 'waiting' end,
    expires_at = case when $5 then expires_at else expires_at + ($4 - first_due_at) end
  where organization_id = $1 and mode = $2 and email_id = $3 and state in ('waiting', 'ready', 'held') and attempt = 0
  returning position`;

/**
 * Sets the due time of an email's deliveries that no worker has tried yet, and returns their positions.
 * @param keepsExpiry it expires when the request says
 */
export function rescheduleDeliveries(
  email: EmailKey,
  dueAt: Date,
  keepsExpiry: boolean,
): Statement<{ position: number }> {
  return {
    name: 'reschedule-deliveries',
    text: RESCHEDULE,
    values: [email.organizationId, email.mode, email.emailId, dueAt, keepsExpiry],
  };
}
