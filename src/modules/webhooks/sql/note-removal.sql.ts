// Takes an endpoint's replay away and notes that its messages are to be deleted.
// Writes: webhook_replays, webhook_removals (primary keys). Locks: the rows. Rows: 1 each.
// Not the ORM: two tables in one statement.
import type { Statement } from '../../../database/statement';

const TEXT = `
  with replay as (
    delete from webhook_replays where organization_id = $1 and mode = $2 and endpoint_id = $3
  )
  insert into webhook_removals (organization_id, mode, endpoint_id) values ($1, $2, $3)
  on conflict do nothing`;

export function noteRemoval(organizationId: string, mode: string, endpointId: string): Statement<never> {
  return { name: 'note-webhook-removal', text: TEXT, values: [organizationId, mode, endpointId] };
}
