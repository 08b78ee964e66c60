// Forgets idempotency keys whose time is over.
// Writes: idempotency_keys (index on created_at). Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
import type { Statement } from '../../../database/statement';

const TEXT = `
  delete from idempotency_keys i
  using (
    select organization_id, mode, path, key
    from idempotency_keys
    where created_at < $1
    order by created_at
    limit $2
    for update skip locked
  ) expired
  where i.organization_id = expired.organization_id and i.mode = expired.mode
    and i.path = expired.path and i.key = expired.key
  returning 1 as deleted`;

export function deleteExpiredKeys(before: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-expired-keys', text: TEXT, values: [before, limit] };
}
