import { NIL_ID } from '../../../../common/ids';
import type { Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';
import type { WebhookEndpoint } from '../webhook.entity';
import type { Advance, EndpointKey, Follower, NewMessage } from '../webhook-queue';

// Endpoints: what a plain insert, delete or select does not do.

// Takes an endpoint's replay away and notes that its messages are to be deleted.
// Writes: webhook_replays, webhook_removals (primary keys). Locks: the rows. Rows: 1 each.
// Not the ORM: two tables in one statement.
const NOTE = `
  with replay as (
    delete from webhook_replays where organization_id = $1 and mode = $2 and endpoint_id = $3
  )
  insert into webhook_removals (organization_id, mode, endpoint_id) values ($1, $2, $3)
  on conflict do nothing`;

export function noteRemoval(organizationId: string, mode: string, endpointId: string): Statement<never> {
  return { name: 'note-webhook-removal', text: NOTE, values: [organizationId, mode, endpointId] };
}

// Deletes messages of one endpoint that is gone, and with the last of them the note that there are any.
// Writes: webhook_removals, webhook_messages (primary keys). Locks: the note, skip locked, so that one process is at work on
// an endpoint; then the messages, in key order. Rows: up to $1.
// Without organization: what is left of any of them. Not the ORM: a bounded delete.
const CLEAR = `
  with removal as materialized (
    select organization_id, mode, endpoint_id
    from webhook_removals
    order by organization_id, mode, endpoint_id
    limit 1
    for update skip locked
  ), gone as materialized (
    select m.organization_id, m.mode, m.endpoint_id, m.id
    from removal
    cross join lateral (
      select organization_id, mode, endpoint_id, id
      from webhook_messages
      where organization_id = removal.organization_id and mode = removal.mode and endpoint_id = removal.endpoint_id
      order by id
      limit $1
      for update
    ) m
  ), deleted as (
    delete from webhook_messages m
    using gone
    where m.organization_id = gone.organization_id and m.mode = gone.mode and m.endpoint_id = gone.endpoint_id
      and m.id = gone.id
  ), finished as (
    delete from webhook_removals r
    using removal
    where r.organization_id = removal.organization_id and r.mode = removal.mode and r.endpoint_id = removal.endpoint_id
      and (select count(*) from gone) < $1
  )
  select endpoint_id as "endpointId" from removal`;

export function clearRemoved(limit: number): Statement<{ endpointId: string }> {
  return { name: 'clear-removed-webhook', text: CLEAR, values: [limit] };
}

// The encrypted secrets of all organizations' endpoints in key order, up to $4 endpoints after the key ($1, $2, $3).
// Reads: webhook_endpoints (primary key). Locks: none. Rows: up to $4.
// Without organization: the master key is the operator's, and encrypts the secrets of all of them.
// Not the ORM: pages by a row comparison.

export type EncryptedSecrets = Pick<WebhookEndpoint, 'organizationId' | 'mode' | 'id' | 'secret' | 'previousSecret'>;

const SECRETS = `
  select organization_id as "organizationId", mode, id, secret, previous_secret as "previousSecret"
  from webhook_endpoints
  where (organization_id, mode, id) > ($1, $2, $3)
  order by organization_id, mode, id
  limit $4`;

/** @param after the last row of the page before; by default the first page */
export function listEncryptedSecrets(limit: number, after?: EncryptedSecrets): Statement<EncryptedSecrets> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID } = after ?? {};
  return { name: 'list-encrypted-webhook-secrets', text: SECRETS, values: [organizationId, mode, id, limit] };
}

// How endpoints follow the event feed.

// The enabled endpoints in the order of their keys, a page at a time, that have fewer than $5 messages to be sent: those
// that events are made into messages for.
// Reads: webhook_endpoints (primary key), webhook_messages (index webhook_messages_due, up to $5 entries of each endpoint).
// Locks: none. Rows: up to $4. Not the ORM: a page begins after a key of three columns, and the bounded count.
const FOLLOWS = (maxPending: string) => `
  enabled and not exists (
    select from webhook_messages m
    where m.organization_id = e.organization_id and m.mode = e.mode and m.endpoint_id = e.id and m.state = 'pending'
    offset ${maxPending} - 1
  )`;
const COLUMNS = `organization_id as "organizationId", mode, id as "endpointId", position, events, domain_id as "domainId"`;

const LIST = `
  select ${COLUMNS}
  from webhook_endpoints e
  where (organization_id, mode, id) > ($1::uuid, $2::text, $3::uuid) and ${FOLLOWS('$5')}
  order by organization_id, mode, id
  limit $4`;

export function listFollowers(after: EndpointKey, maxPending: number, limit: number): Statement<Follower> {
  const { organizationId, mode, endpointId } = after;
  return { name: 'list-webhook-followers', text: LIST, values: [organizationId, mode, endpointId, limit, maxPending] };
}

// The same of these organizations.
// Reads: as above. Locks: none. Rows: all endpoints of each. Not the ORM: the bounded count, and keys of two columns.
const LIST_OF = `
  select ${COLUMNS}
  from unnest($1::uuid[], $2::text[]) as wanted (organization_id, mode)
  join webhook_endpoints e using (organization_id, mode)
  where ${FOLLOWS('$3')}`;

export function listFollowersOf(tenants: readonly Tenant[], maxPending: number): Statement<Follower> {
  const keys = [tenants.map(({ organizationId }) => organizationId), tenants.map(({ mode }) => mode)];
  return { name: 'list-webhook-followers-of', text: LIST_OF, values: [...keys, maxPending] };
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
