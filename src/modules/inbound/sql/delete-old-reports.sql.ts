// Deletes up to $2 reports with an id below $1 (ids sort by arrival), oldest first.
// Writes: inbound_reports. Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
import type { Statement } from '../../../database/statement';

const TEXT = `
  delete from inbound_reports r
  using (
    select organization_id, mode, email_id, position, digest
    from inbound_reports
    where id < $1
    order by id
    limit $2
    for update skip locked
  ) old
  where r.organization_id = old.organization_id and r.mode = old.mode and r.email_id = old.email_id
    and r.position = old.position and r.digest = old.digest
  returning 1 as deleted`;

export function deleteOldReports(beforeId: string, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-inbound-reports', text: TEXT, values: [beforeId, limit] };
}
