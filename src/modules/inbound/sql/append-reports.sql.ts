// How mail comes into the two tables of reports: from a return path, or to an address that anyone may write to.
import type { Statement } from '../../../database/statement';
import type { NewFeedbackReport, NewInboundReport } from '../inbound-report';

// Appends one message as a report on each delivery that it was addressed to; one that is there already stays as it is.
// Writes: inbound_reports (primary key). Locks: the new rows, in key order. Rows: 1 to 10, nearly always 1.
// Not the ORM: `on conflict do nothing`, and the bytes travel once for all rows.
const INSERT_REPORTS = `
  insert into inbound_reports (organization_id, mode, email_id, position, digest, id, received_at, raw)
  select organization_id, mode, email_id, position, $6, id, $7, $8
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::uuid[])
    as r (organization_id, mode, email_id, position, id)
  order by organization_id, mode, email_id, position
  on conflict (organization_id, mode, email_id, position, digest) do nothing
  returning id`;

/** Returns the rows that are new. */
export function insertReports(
  reports: readonly NewInboundReport[],
  message: { readonly digest: Buffer; readonly raw: Buffer; readonly receivedAt: Date },
): Statement<{ id: string }> {
  return {
    name: 'insert-inbound-reports',
    text: INSERT_REPORTS,
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

export interface FeedbackLimits {
  /** Smallest id of the hour that counts. */
  readonly sinceId: string;
  readonly perHour: number;
  readonly inAll: number;
}

// Appends one message to an address that anyone may write to, unless that has too many already: $6 since $7, or $8 in all.
// One that is there already stays as it is. What floods one mailbox leaves the others alone.
// Reads: feedback_reports (index feedback_reports_mailbox, index only). Writes: feedback_reports (primary key). Locks: the new
// row. Rows: 0 or 1. Messages that come at the same moment may exceed a limit by their number; it is a bound, not an account.
// Not the ORM: the limits and the insert are one statement.
const INSERT_FEEDBACK = `
  with capacity as (
    select
      (select count(*) from (select 1 from feedback_reports where mailbox = $3 and id >= $7 limit $6) lately) < $6
        and (select count(*) from (select 1 from feedback_reports where mailbox = $3 limit $8) stored) < $8 as "hasCapacity"
  ), added as (
    insert into feedback_reports (digest, id, mailbox, received_at, raw)
    select $1::bytea, $2::uuid, $3::text, $4::timestamptz, $5::bytea from capacity where "hasCapacity"
    on conflict (digest) do nothing
    returning 1
  )
  select "hasCapacity", exists (select from added) as "isNew" from capacity`;

export function insertFeedbackReport(
  { digest, id, mailbox, receivedAt, raw }: NewFeedbackReport,
  { sinceId, perHour, inAll }: FeedbackLimits,
): Statement<{ hasCapacity: boolean; isNew: boolean }> {
  const values = [digest, id, mailbox, receivedAt, raw, perHour, sinceId, inAll];
  return { name: 'insert-feedback-report', text: INSERT_FEEDBACK, values };
}
