// Deletes messages of one endpoint that is gone, and with the last of them the note that there are any.
// Writes: webhook_removals, webhook_messages (primary keys). Locks: the note, skip locked, so that one process is at work on
// an endpoint; then the messages, in key order. Rows: up to $1.
// Without organization: what is left of any of them. Not the ORM: a bounded delete.
import type { Statement } from '../../../../database/statement';

const TEXT = `
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
  return { name: 'clear-removed-webhook', text: TEXT, values: [limit] };
}
