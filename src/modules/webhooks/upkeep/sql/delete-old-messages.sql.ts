// Forgets messages whose time is over.
// Writes: webhook_messages (index webhook_messages_age). Locks: the rows, skip locked. Rows: up to $2.
// Without organization: retention is the same for all. Not the ORM: a bounded delete.
import type { Statement } from '../../../../database/statement';

const TEXT = `
  delete from webhook_messages m
  using (
    select organization_id, mode, endpoint_id, id
    from webhook_messages
    where created_at < $1
    order by created_at
    limit $2
    for update skip locked
  ) old
  where m.organization_id = old.organization_id and m.mode = old.mode and m.endpoint_id = old.endpoint_id and m.id = old.id
  returning 1 as deleted`;

export function deleteOldMessages(before: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-webhook-messages', text: TEXT, values: [before, limit] };
}
