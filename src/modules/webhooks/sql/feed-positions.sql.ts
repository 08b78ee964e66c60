// How endpoints follow the event feed.
import type { Statement } from '../../../database/statement';
import type { Advance, EndpointKey, Follower, NewMessage } from '../webhook-queue';

// The enabled endpoints in the order of their keys, a page at a time, that have fewer than $5 messages to be sent: those
// that events are made into messages for.
// Reads: webhook_endpoints (primary key), webhook_messages (index webhook_messages_due, up to $5 entries of each endpoint).
// Locks: none. Rows: up to $4. Not the ORM: a page begins after a key of three columns, and the bounded count.
const LIST = `
  select organization_id as "organizationId", mode, id as "endpointId", position, events, domain_id as "domainId"
  from webhook_endpoints e
  where enabled and (organization_id, mode, id) > ($1::uuid, $2::text, $3::uuid) and not exists (
    select from webhook_messages m
    where m.organization_id = e.organization_id and m.mode = e.mode and m.endpoint_id = e.id and m.state = 'pending'
    offset $5 - 1
  )
  order by organization_id, mode, id
  limit $4`;

export function listFollowers(after: EndpointKey, maxPending: number, limit: number): Statement<Follower> {
  const { organizationId, mode, endpointId } = after;
  return { name: 'list-webhook-followers', text: LIST, values: [organizationId, mode, endpointId, limit, maxPending] };
}

// Moves endpoints on in the event feed and makes the messages of what was passed; an endpoint that another process has
// moved, or that has been disabled or enabled anew, is left alone with its messages.
// Writes: webhook_endpoints, webhook_messages (primary keys). Locks: the endpoints in the order of their keys.
// Rows: one page of endpoints, and of events for each. Not the ORM: compare-and-set of many rows and their messages at once.
const ADVANCE = `
  with held as materialized (
    select e.organization_id, e.mode, e.id, a.next
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[]) as a (organization_id, mode, id, position, next)
    join webhook_endpoints e using (organization_id, mode, id)
    where e.enabled and e.position = a.position
    order by e.organization_id, e.mode, e.id
    for update of e
  ), advanced as (
    update webhook_endpoints e
    set position = h.next
    from held h
    where e.organization_id = h.organization_id and e.mode = h.mode and e.id = h.id
    returning e.organization_id, e.mode, e.id
  )
  insert into webhook_messages (
    organization_id, mode, endpoint_id, id, email_id, sequence, event_type, state, next_attempt_at, created_at
  )
  select a.organization_id, a.mode, a.id, n.id, n.email_id, n.sequence, n.event_type, 'pending', $11, $11
  from advanced a
  join unnest($6::uuid[], $7::uuid[], $8::uuid[], $9::int[], $10::text[])
    as n (endpoint_id, id, email_id, sequence, event_type) on n.endpoint_id = a.id
  order by a.organization_id, a.mode, a.id, n.id
  on conflict do nothing`;

export function advanceFollowers(
  advances: readonly Advance[],
  messages: readonly NewMessage[],
  now: Date,
): Statement<never> {
  return {
    name: 'advance-webhook-followers',
    text: ADVANCE,
    values: [
      advances.map((advance) => advance.organizationId),
      advances.map((advance) => advance.mode),
      advances.map((advance) => advance.endpointId),
      advances.map((advance) => advance.position),
      advances.map((advance) => advance.next),
      messages.map((message) => message.endpointId),
      messages.map((message) => message.id),
      messages.map((message) => message.emailId),
      messages.map((message) => message.sequence),
      messages.map((message) => message.eventType),
      now,
    ],
  };
}
