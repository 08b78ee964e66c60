// Deletes the reports on some deliveries.
// Writes: inbound_reports (range of the primary key), feedback_reports. Locks: the rows. Rows: those of one batch of an
// erasure; of the feedback, which is kept for a month and has no index on deliveries, all are looked at.
// Not the ORM: a batch of keys.
import type { DeliveryKey } from '../../../delivery/ports/delivery';
import type { Statement } from '../../../database/statement';

const WANTED =
  'unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[]) as w (organization_id, mode, email_id, position)';

const TEXT = `
  with reports as (
    delete from inbound_reports r
    using ${WANTED}
    where r.organization_id = w.organization_id and r.mode = w.mode and r.email_id = w.email_id and r.position = w.position
    returning 1
  ), feedback as (
    delete from feedback_reports f
    using ${WANTED}
    where f.organization_id = w.organization_id and f.mode = w.mode and f.email_id = w.email_id and f.position = w.position
    returning 1
  )
  select ((select count(*) from reports) + (select count(*) from feedback))::int as deleted`;

export function deleteReportsOf(keys: readonly DeliveryKey[]): Statement<{ deleted: number }> {
  return {
    name: 'delete-reports-of',
    text: TEXT,
    values: [
      keys.map((key) => key.organizationId),
      keys.map((key) => key.mode),
      keys.map((key) => key.emailId),
      keys.map((key) => key.position),
    ],
  };
}
