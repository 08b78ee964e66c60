// Writes what became of attempts; a claim that has ended meanwhile is another's, and its row stays as it is.
// Writes: webhook_messages (primary key). Locks: the rows in the order of their keys. Rows: one batch.
// Not the ORM: many rows with values of their own, fenced by the time of the claim.
import type { Statement } from '../../../../database/statement';
import type { SettledMessage } from '../dispatched-message';

const TEXT = `
  with held as materialized (
    select m.organization_id, m.mode, m.endpoint_id, m.id,
      s.state, s.is_charged, s.next_attempt_at, s.status, s.error, s.delivered_at
    from unnest(
      $1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[], $7::boolean[], $8::timestamptz[],
      $9::int[], $10::text[], $11::timestamptz[]
    ) as s (
      organization_id, mode, endpoint_id, id, claimed_until, state, is_charged, next_attempt_at, status, error, delivered_at
    )
    join webhook_messages m using (organization_id, mode, endpoint_id, id)
    where m.state = 'sending' and m.claimed_until = s.claimed_until
    order by m.organization_id, m.mode, m.endpoint_id, m.id
    for update of m
  )
  update webhook_messages m
  set
    state = h.state,
    claimed_until = null,
    attempts = m.attempts - (not h.is_charged)::int,
    next_attempt_at = coalesce(h.next_attempt_at, m.next_attempt_at),
    last_status = case when h.is_charged then h.status else m.last_status end,
    last_error = case when h.is_charged then h.error else coalesce(h.error, m.last_error) end,
    delivered_at = h.delivered_at
  from held h
  where m.organization_id = h.organization_id and m.mode = h.mode and m.endpoint_id = h.endpoint_id and m.id = h.id`;

export function settleMessages(settled: readonly SettledMessage[]): Statement<never> {
  return {
    name: 'settle-webhook-messages',
    text: TEXT,
    values: [
      settled.map(({ message }) => message.organizationId),
      settled.map(({ message }) => message.mode),
      settled.map(({ message }) => message.endpointId),
      settled.map(({ message }) => message.id),
      settled.map(({ message }) => message.claimedUntil),
      settled.map(({ state }) => state),
      settled.map(({ isCharged }) => isCharged),
      settled.map(({ nextAttemptAt }) => nextAttemptAt),
      settled.map(({ status }) => status),
      settled.map(({ error }) => error),
      settled.map(({ deliveredAt }) => deliveredAt),
    ],
  };
}
