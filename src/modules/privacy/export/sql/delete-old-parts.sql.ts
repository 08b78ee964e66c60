// Deletes parts of results that have expired at $1, and of requests that have failed.
// Writes: privacy_export_parts; reads privacy_requests (primary key). Locks: the rows, skip locked. Rows: up to $2.
// All parts are looked at: there are no others than those of a week.
// Not the ORM: a bounded delete.
import type { Statement } from '../../../../database/statement';

const TEXT = `
  delete from privacy_export_parts p
  using (
    select organization_id, mode, request_id, section, part
    from privacy_export_parts p
    where exists (
      select from privacy_requests r
      where r.organization_id = p.organization_id and r.mode = p.mode and r.id = p.request_id
        and (r.expires_at <= $1 or r.status = 'failed')
    )
    order by organization_id, mode, request_id, section, part
    limit $2
    for update skip locked
  ) old
  where p.organization_id = old.organization_id and p.mode = old.mode and p.request_id = old.request_id
    and p.section = old.section and p.part = old.part
  returning 1 as deleted`;

export function deleteOldParts(now: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-export-parts', text: TEXT, values: [now, limit] };
}
