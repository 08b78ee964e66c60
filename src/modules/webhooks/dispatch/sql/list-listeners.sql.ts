// The enabled endpoints in the order of their keys, a page at a time: those that events are made into messages for.
// Reads: webhook_endpoints (primary key). Locks: none. Rows: up to $4.
// Not the ORM: a page begins after a key of three columns.
import type { Statement } from '../../../../database/statement';
import type { EndpointKey, Listener } from '../dispatched-message';

const TEXT = `
  select organization_id as "organizationId", mode, id as "endpointId", position, events, domain_id as "domainId"
  from webhook_endpoints
  where enabled and (organization_id, mode, id) > ($1::uuid, $2::text, $3::uuid)
  order by organization_id, mode, id
  limit $4`;

export function listListeners(after: EndpointKey, limit: number): Statement<Listener> {
  const { organizationId, mode, endpointId } = after;
  return { name: 'list-webhook-listeners', text: TEXT, values: [organizationId, mode, endpointId, limit] };
}
