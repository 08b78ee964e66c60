// Deletes up to $2 messages with an id below $1 (ids sort by arrival), oldest first; at the feedback address, which no
// person reads, what was no complaint on our mail goes once its id is below $3.
// Writes: feedback_reports. Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
import type { Statement } from '../../../database/statement';

const TEXT = `
  delete from feedback_reports r
  using (
    select digest
    from feedback_reports
    where id < $1
      or (id < $3 and mailbox = 'fbl' and processed_at is not null and disposition not in ('spam_report', 'duplicate'))
    order by id
    limit $2
    for update skip locked
  ) old
  where r.digest = old.digest
  returning 1 as deleted`;

export function deleteOldFeedback(beforeId: string, uselessBeforeId: string, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-feedback-reports', text: TEXT, values: [beforeId, limit, uselessBeforeId] };
}
