// Deletes up to $2 entries from before a moment, oldest first.
// Writes: audit_log (index audit_log_occurred_at; its triggers refuse changes and the deletion of young entries). Locks: the rows, skip locked.
// Rows: up to $2. Without organization: retention is the same for all. Not the ORM: a bounded delete.
import type { Statement } from '../../database/statement';

const TEXT = `
  delete from audit_log a
  using (
    select organization_id, id
    from audit_log
    where occurred_at < $1
    order by occurred_at
    limit $2
    for update skip locked
  ) old
  where a.organization_id = old.organization_id and a.id = old.id
  returning 1 as deleted`;

export function deleteOldEntries(before: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-audit-entries', text: TEXT, values: [before, limit] };
}
