// Deletes counters whose window has passed.
// Writes: throttle_hits (index throttle_hits_expired). Locks: the rows it deletes, skipping those another process is
// deleting. Rows: up to 5,000 per call.
// Not the ORM: it has no bounded delete.
import type { Statement } from '../../database/statement';

export interface DeletedHits {
  deleted: number;
}

const TEXT = `
  with expired as (
    select key, window_start
    from throttle_hits
    where expires_at < now()
    order by expires_at
    limit 5000
    for update skip locked
  ), deleted as (
    delete from throttle_hits using expired
    where throttle_hits.key = expired.key and throttle_hits.window_start = expired.window_start
    returning 1
  )
  select count(*)::integer as deleted from deleted`;

export function deleteExpiredHits(): Statement<DeletedHits> {
  return { name: 'delete-expired-hits', text: TEXT, values: [] };
}
