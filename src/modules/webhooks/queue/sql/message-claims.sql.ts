// The claim of messages by a process, and how it ends.
import type { Statement } from '../../../../database/statements/statement';
import type { ClaimedMessage, FreeSlots, OrganizationShare, SettledMessage } from '../webhook-queue';

// Claims due messages for one process, a few of each enabled endpoint: one endpoint of every organization, in no fixed order,
// before the second of any, so that neither an endpoint nor an organization with many of them waits for another. Endpoints
// that the process knows come with the number of messages that it may have more of each, and organizations that it has
// messages of with the number of further ones, which its endpoints share equally.
// Reads: webhook_endpoints (one scan of the enabled ones). Writes: webhook_messages (index webhook_messages_due, one look-up
// for each endpoint). Locks: the claimed rows, skip locked. Rows: up to $6.
// Not the ORM: SKIP LOCKED with a limit of its own for each of many endpoints.
const CLAIM = `
  with candidates as (
    select e.organization_id, e.mode, e.id, coalesce(k.free, case when e.failing_since is null then $5 else 1 end) as free,
      coalesce(s.free, $9) as share, random() as lot
    from webhook_endpoints e
    left join unnest($3::uuid[], $4::int[]) as k (id, free) using (id)
    left join unnest($7::uuid[], $8::int[]) as s (organization_id, free) using (organization_id)
    where e.enabled
  ), placed as (
    select *,
      row_number() over (partition by organization_id order by lot) as place,
      count(*) over (partition by organization_id) as endpoints
    from candidates
    where free > 0
  ), turns as materialized (
    select organization_id, mode, id, least(free, greatest(1, share / endpoints)) as free
    from placed
    where place <= share
    order by place, lot
  ), due as materialized (
    select m.organization_id, m.mode, m.endpoint_id, m.id
    from turns t
    cross join lateral (
      select organization_id, mode, endpoint_id, id
      from webhook_messages
      where state = 'pending' and organization_id = t.organization_id and mode = t.mode and endpoint_id = t.id
        and next_attempt_at <= $1
      order by next_attempt_at, id
      limit t.free
      for update skip locked
    ) m
    limit $6
  )
  update webhook_messages m
  set state = 'sending', attempts = m.attempts + 1, last_attempt_at = $1, claimed_until = $2
  from due d
  join webhook_endpoints e on e.organization_id = d.organization_id and e.mode = d.mode and e.id = d.endpoint_id
  where m.organization_id = d.organization_id and m.mode = d.mode and m.endpoint_id = d.endpoint_id and m.id = d.id
  returning
    m.organization_id as "organizationId",
    m.mode,
    m.endpoint_id as "endpointId",
    m.id,
    m.email_id as "emailId",
    m.sequence,
    m.event_type as "eventType",
    m.attempts,
    m.created_at as "createdAt",
    m.claimed_until as "claimedUntil",
    e.url,
    e.secret,
    e.previous_secret as "previousSecret",
    e.previous_secret_until as "previousSecretUntil",
    e.failing_since as "failingSince"`;

export interface ClaimInput {
  readonly now: Date;
  /** When the claims end by themselves. */
  readonly until: Date;
  readonly slots: readonly FreeSlots[];
  /** How many to take of an endpoint that `slots` does not name and that is not failing. */
  readonly freshSlots: number;
  /** How many more each organization may have of which there are messages already. */
  readonly shares: readonly OrganizationShare[];
  /** The same for others. */
  readonly freshShare: number;
  readonly limit: number;
}

export function claimMessages(input: ClaimInput): Statement<ClaimedMessage> {
  const { now, until, slots, freshSlots, shares, freshShare, limit } = input;
  return {
    name: 'claim-webhook-messages',
    text: CLAIM,
    values: [
      ...[now, until, slots.map(({ endpointId }) => endpointId), slots.map(({ free }) => free), freshSlots, limit],
      ...[shares.map(({ organizationId }) => organizationId), shares.map(({ free }) => free), freshShare],
    ],
  };
}

/**
 * JSON's null rather than none: the response to the attempt under way is not kept, as a person has been erased from its event.
 */
export const NO_RESPONSE = `'null'::jsonb`;

// Writes what became of attempts; a claim that has ended meanwhile is another's, and its row stays as it is. A claim counts an
// attempt: a row without any has been renewed since, and what did not reach its receiver begins anew, due as the renewal says. So does
// what a receiver wanted no more whose endpoint has got another URL meanwhile.
// Reads: webhook_endpoints (primary key). Writes: webhook_messages (primary key). Locks: the rows in the order of their keys. Rows: one batch.
// Not the ORM: many rows with values of their own, fenced by the time of the claim.
const SETTLE = `
  with held as materialized (
    select m.organization_id, m.mode, m.endpoint_id, m.id,
      m.attempts = 0 and s.state <> 'delivered' or s.gone_url <> e.url as is_renewed,
      s.state, s.is_charged, s.next_attempt_at, s.status, s.error, s.delivered_at, s.response
    from unnest(
      $1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[], $7::boolean[], $8::timestamptz[],
      $9::int[], $10::text[], $11::timestamptz[], $12::text[], $13::text[]
    ) as s (
      organization_id, mode, endpoint_id, id, claimed_until, state, is_charged, next_attempt_at, status, error, delivered_at,
      response, gone_url
    )
    join webhook_messages m using (organization_id, mode, endpoint_id, id)
    left join webhook_endpoints e
      on s.gone_url is not null and e.organization_id = m.organization_id and e.mode = m.mode and e.id = m.endpoint_id
    where m.state = 'sending' and m.claimed_until = s.claimed_until
    order by m.organization_id, m.mode, m.endpoint_id, m.id
    for update of m
  )
  update webhook_messages m
  set
    state = case when h.is_renewed then 'pending' else h.state end,
    claimed_until = null,
    attempts = case
      when h.is_renewed then 0
      when h.state = 'delivered' then greatest(m.attempts, 1)
      else m.attempts - (not h.is_charged)::int
    end,
    next_attempt_at = case when h.is_renewed then m.next_attempt_at else coalesce(h.next_attempt_at, m.next_attempt_at) end,
    last_status = case when h.is_charged then h.status else m.last_status end,
    last_error = case when h.is_charged then h.error else coalesce(h.error, m.last_error) end,
    last_answer = case
      when m.last_answer = ${NO_RESPONSE} then null
      when h.is_charged then h.response::jsonb
      else m.last_answer
    end,
    delivered_at = h.delivered_at
  from held h
  where m.organization_id = h.organization_id and m.mode = h.mode and m.endpoint_id = h.endpoint_id and m.id = h.id`;

export function settleMessages(settled: readonly SettledMessage[]): Statement<never> {
  return {
    name: 'settle-webhook-messages',
    text: SETTLE,
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
      settled.map(({ response }) => (response === null ? null : JSON.stringify(response))),
      settled.map(({ message, result }) => (result === 'gone' ? message.url : null)),
    ],
  };
}
