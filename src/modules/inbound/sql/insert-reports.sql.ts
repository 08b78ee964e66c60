// Appends one message as a report on each delivery that it was addressed to; one that is there already stays as it is.
// Writes: inbound_reports (primary key). Locks: the new rows, in key order. Rows: 1 to 10, nearly always 1.
// Not the ORM: `on conflict do nothing`, and the bytes travel once for all rows.
import type { Statement } from '../../../database/statement';
import type { NewInboundReport } from '../inbound-report';

const TEXT = `
  insert into inbound_reports (organization_id, mode, email_id, position, digest, id, received_at, raw)
  select organization_id, mode, email_id, position, $6, id, $7, $8
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::uuid[])
    as r (organization_id, mode, email_id, position, id)
  order by organization_id, mode, email_id, position
  on conflict (organization_id, mode, email_id, position, digest) do nothing
  returning id`;

/** Answers the rows that are new. */
export function insertReports(
  reports: readonly NewInboundReport[],
  message: { readonly digest: Buffer; readonly raw: Buffer; readonly receivedAt: Date },
): Statement<{ id: string }> {
  return {
    name: 'insert-inbound-reports',
    text: TEXT,
    values: [
      reports.map((report) => report.organizationId),
      reports.map((report) => report.mode),
      reports.map((report) => report.emailId),
      reports.map((report) => report.position),
      reports.map((report) => report.id),
      message.digest,
      message.receivedAt,
      message.raw,
    ],
  };
}
