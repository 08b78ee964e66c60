// How reports go: when their time is over, or with the person they are about.
import type { Statement } from '../../../../database/statements/statement';
import type { DeliveryKey } from '../../../../delivery/ports/delivery';

// Deletes up to $2 reports with an id below $1 (ids sort by arrival), oldest first.
// Writes: inbound_reports. Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
const DELETE_OLD_REPORTS = `
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
  return { name: 'delete-old-inbound-reports', text: DELETE_OLD_REPORTS, values: [beforeId, limit] };
}

// Deletes up to $2 messages with an id below $1 (ids sort by arrival), oldest first. Processed messages at the addresses for
// programs (fbl, dmarc, tls-reports) that were no complaint on our mail are deleted once their id is below $3.
// Writes: feedback_reports. Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
const DELETE_OLD_FEEDBACK = `
  delete from feedback_reports r
  using (
    select digest
    from feedback_reports
    where id < $1
      or (id < $3 and mailbox in ('fbl', 'dmarc', 'tls-reports') and processed_at is not null and disposition not in ('spam_report', 'duplicate'))
    order by id
    limit $2
    for update skip locked
  ) old
  where r.digest = old.digest
  returning 1 as deleted`;

export function deleteOldFeedback(beforeId: string, uselessBeforeId: string, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-feedback-reports', text: DELETE_OLD_FEEDBACK, values: [beforeId, limit, uselessBeforeId] };
}

// Deletes the reports on some deliveries, and on their emails as a whole: those show the recipients as well.
// Writes: inbound_reports (range of the primary key), feedback_reports. Locks: the rows. Rows: those of one batch of an
// erasure; of the feedback, which is kept for a month and has no index on deliveries, all are looked at.
// Not the ORM: a batch of keys.
const WANTED =
  'unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[]) as w (organization_id, mode, email_id, position)';

const DELETE_REPORTS_OF = `
  with reports as (
    delete from inbound_reports r
    using ${WANTED}
    where r.organization_id = w.organization_id and r.mode = w.mode and r.email_id = w.email_id and r.position = w.position
    returning 1
  ), feedback as (
    delete from feedback_reports f
    using ${WANTED}
    where f.organization_id = w.organization_id and f.mode = w.mode and f.email_id = w.email_id
      and (f.position = w.position or f.position is null)
    returning 1
  )
  select ((select count(*) from reports) + (select count(*) from feedback))::int as deleted`;

export function deleteReportsOf(keys: readonly DeliveryKey[]): Statement<{ deleted: number }> {
  return {
    name: 'delete-reports-of',
    text: DELETE_REPORTS_OF,
    values: [
      keys.map((key) => key.organizationId),
      keys.map((key) => key.mode),
      keys.map((key) => key.emailId),
      keys.map((key) => key.position),
    ],
  };
}
