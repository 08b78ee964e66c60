// Ends the work on one report, unless another worker has taken it up meanwhile or has ended it. What it said is of no more
// use then, and is other people's words about other people: it goes at once.
// Writes: the report table (index on id). Locks: the row. Rows: 0 or 1.
// Not the ORM: a compare-and-set in the transaction that records the outcome.
import type { Statement } from '../../../database/statement';
import type { ClaimedReport, ReportSubject } from '../inbound-report';

const CLAIM = 'id = $1 and attempts = $2 and processed_at is null';

const INBOUND = `
  update inbound_reports
  set processed_at = $3, disposition = $4, claimed_until = null, raw = ''
  where ${CLAIM}
  returning 1 as settled`;

const FEEDBACK = `
  update feedback_reports
  set
    processed_at = $3,
    disposition = $4,
    claimed_until = null,
    -- What people write to postmaster and abuse is for the operator to read.
    raw = case mailbox when 'fbl' then '' else raw end,
    organization_id = $5,
    mode = $6,
    email_id = $7,
    position = $8
  where ${CLAIM}
  returning 1 as settled`;

export interface ReportEnd {
  readonly processedAt: Date;
  readonly disposition: string;
  readonly subject: ReportSubject | undefined;
}

export function settleReport(
  { table, id, attempts }: ClaimedReport,
  { processedAt, disposition, subject }: ReportEnd,
): Statement<{ settled: 1 }> {
  const values = [id, attempts, processedAt, disposition];
  if (table === 'inbound_reports') return { name: 'settle-inbound-report', text: INBOUND, values };
  const owner = [subject?.organizationId, subject?.mode, subject?.emailId, subject?.position];
  const all = [...values, ...owner.map((value) => value ?? null)];
  return { name: 'settle-feedback-report', text: FEEDBACK, values: all };
}
