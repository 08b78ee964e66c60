// Appends one message to an address that anyone may write to, unless that has too many already: $6 since $7, or $8 in all.
// One that is there already stays as it is. What floods one mailbox leaves the others alone.
// Reads: feedback_reports (index feedback_reports_mailbox, index only). Writes: feedback_reports (primary key). Locks: the new
// row. Rows: 0 or 1. Those who come at the same moment may exceed a limit by their number; it is a bound, not an account.
// Not the ORM: the limits and the insert are one statement.
import type { Statement } from '../../../database/statement';
import type { NewFeedbackReport } from '../inbound-report';

export interface FeedbackLimits {
  /** Smallest id of the hour that counts. */
  readonly sinceId: string;
  readonly perHour: number;
  readonly inAll: number;
}

const TEXT = `
  with room as (
    select
      (select count(*) from (select 1 from feedback_reports where mailbox = $3 and id >= $7 limit $6) lately) < $6
        and (select count(*) from (select 1 from feedback_reports where mailbox = $3 limit $8) stored) < $8 as "isLeft"
  ), added as (
    insert into feedback_reports (digest, id, mailbox, received_at, raw)
    select $1::bytea, $2::uuid, $3::text, $4::timestamptz, $5::bytea from room where "isLeft"
    on conflict (digest) do nothing
    returning 1
  )
  select "isLeft", exists (select from added) as "isNew" from room`;

export function insertFeedbackReport(
  { digest, id, mailbox, receivedAt, raw }: NewFeedbackReport,
  { sinceId, perHour, inAll }: FeedbackLimits,
): Statement<{ isLeft: boolean; isNew: boolean }> {
  const values = [digest, id, mailbox, receivedAt, raw, perHour, sinceId, inAll];
  return { name: 'insert-feedback-report', text: TEXT, values };
}
