// Sending events once more.
import type { Statement } from '../../../../database/statements/statement';
import type { WebhookEndpoint, WebhookMessage } from '../webhook.entity';

// Of each of the next organizations after $2 the replay that has waited longest, with what its endpoint subscribes to.
// Endpoints that are disabled, or have enough to be sent as it is, come later.
// Reads: webhook_replays, webhook_endpoints (primary keys), webhook_messages (index webhook_messages_due, up to $1 entries
// each). Locks: none. Rows: up to $3. Not the ORM: goes from one organization to the next, and the bounded count.

/** `id` is the endpoint's. */
export type OpenReplay = Pick<
  WebhookEndpoint,
  'organizationId' | 'mode' | 'id' | 'events' | 'domainId' | 'position'
> & {
  readonly endBefore: string;
};

const NEXT = `
  with recursive waiting as (
    (select organization_id from webhook_replays where organization_id > $2 order by organization_id limit 1)
    union all
    select next.organization_id
    from waiting
    cross join lateral (
      select organization_id from webhook_replays
      where organization_id > waiting.organization_id
      order by organization_id limit 1
    ) next
  )
  select replay.*
  from waiting
  cross join lateral (
    select
      r.organization_id as "organizationId", r.mode, e.id, e.events, e.domain_id as "domainId", r.position,
      r.end_before as "endBefore"
    from webhook_replays r
    join webhook_endpoints e on e.organization_id = r.organization_id and e.mode = r.mode and e.id = r.endpoint_id
    where r.organization_id = waiting.organization_id and e.enabled and not exists (
      select from webhook_messages m
      where m.organization_id = r.organization_id and m.mode = r.mode and m.endpoint_id = r.endpoint_id
        and m.state = 'pending'
      offset $1 - 1
    )
    order by r.updated_at
    limit 1
  ) replay
  limit $3`;

/** Whether any endpoint has one. */
export const HAS_REPLAY = 'exists (select from webhook_replays)';

/** @param after an organization's id, see `OrganizationRing` */
export function nextReplays(maxPending: number, after: string, limit: number): Statement<OpenReplay> {
  return { name: 'next-webhook-replays', text: NEXT, values: [maxPending, after, limit] };
}

// Makes messages for one endpoint; those that it has already begin anew. One that is being sent goes on: that it is without
// attempts tells its settlement to begin anew where the attempt fails (see settle-webhook-messages).
// Writes: webhook_messages (primary key). Locks: the rows, in the order given, which is that of their ids. Rows: up to 500.
// Not the ORM: its upsert cannot leave rows as they are by their state.
const RENEW = `
  insert into webhook_messages (
    organization_id, mode, endpoint_id, id, email_id, sequence, event_type, state, next_attempt_at, created_at
  )
  select $1, $2, $3, id, email_id, sequence, event_type, 'pending', $8, $8
  from unnest($4::uuid[], $5::uuid[], $6::int[], $7::text[]) as given (id, email_id, sequence, event_type)
  on conflict (organization_id, mode, endpoint_id, id) do update
  set
    state = case when webhook_messages.state = 'sending' then 'sending' else 'pending' end,
    claimed_until = case when webhook_messages.state = 'sending' then webhook_messages.claimed_until end,
    attempts = 0,
    next_attempt_at = excluded.next_attempt_at,
    delivered_at = null,
    created_at = excluded.created_at`;

export function renewMessages(
  { organizationId, mode, id }: Pick<WebhookEndpoint, 'organizationId' | 'mode' | 'id'>,
  messages: readonly Pick<WebhookMessage, 'id' | 'emailId' | 'sequence' | 'eventType'>[],
  now: Date,
): Statement<never> {
  return {
    name: 'renew-webhook-messages',
    text: RENEW,
    values: [
      ...[organizationId, mode, id],
      messages.map((message) => message.id),
      messages.map((message) => message.emailId),
      messages.map((message) => message.sequence),
      messages.map((message) => message.eventType),
      now,
    ],
  };
}
