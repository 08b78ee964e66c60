// The replay that has waited longest, with what its endpoint wants to hear of. Endpoints that are disabled, or have enough
// to be sent as it is, come later.
// Reads: webhook_replays, webhook_endpoints (primary keys), webhook_messages (index webhook_messages_due, up to $1 entries
// each). Locks: none. Rows: 1. Not the ORM: the bounded count.
import type { Statement } from '../../../../database/statement';
import type { WebhookEndpoint } from '../../webhook-endpoint.entity';

/** `id` is the endpoint's. */
export type OpenReplay = Pick<
  WebhookEndpoint,
  'organizationId' | 'mode' | 'id' | 'events' | 'domainId' | 'position'
> & {
  readonly endBefore: string;
};

const TEXT = `
  select
    r.organization_id as "organizationId", r.mode, e.id, e.events, e.domain_id as "domainId", r.position,
    r.end_before as "endBefore"
  from webhook_replays r
  join webhook_endpoints e on e.organization_id = r.organization_id and e.mode = r.mode and e.id = r.endpoint_id
  where e.enabled and $1 > (
    select count(*)
    from (
      select from webhook_messages m
      where m.organization_id = r.organization_id and m.mode = r.mode and m.endpoint_id = r.endpoint_id
        and m.state = 'pending'
      limit $1
    ) pending
  )
  order by r.updated_at
  limit 1`;

export function nextReplay(maxPending: number): Statement<OpenReplay> {
  return { name: 'next-webhook-replay', text: TEXT, values: [maxPending] };
}
