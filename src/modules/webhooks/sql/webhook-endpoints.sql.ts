// Endpoints: what a plain insert, delete or select does not do.
import { NIL_ID } from '../../../common/ids';
import type { Statement } from '../../../database/statement';
import type { WebhookEndpoint } from '../webhook.entity';

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
