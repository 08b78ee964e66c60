// Takes up to $3 open reports for one worker until $2, oldest first; whoever is on a report has it to itself, and a claim
// that outlives its worker ends by itself. Counting before the work begins ends reports that bring their worker down.
// Writes: the report table (partial index on the open ones). Locks: the rows, skip locked. Rows: up to $3.
// Without organization: a background job of the whole installation.
// Not the ORM: `for update skip locked` with `returning`.
import type { Statement } from '../../../database/statement';
import type { ReportTable } from '../inbound-report';

export interface ClaimedRow {
  id: string;
  attempts: number;
  receivedAt: Date;
  raw: Buffer;
  /** All null in mail to the feedback address. */
  organizationId: string | null;
  mode: 'live' | 'test' | null;
  emailId: string | null;
  position: number | null;
}

const textFor = (table: ReportTable) => `
  with open as (
    select id
    from ${table}
    where processed_at is null and (claimed_until is null or claimed_until <= $1)
    order by id
    limit $3
    for update skip locked
  )
  update ${table} r
  set attempts = r.attempts + 1, claimed_until = $2
  from open
  where r.id = open.id
  returning
    r.id,
    r.attempts,
    r.received_at as "receivedAt",
    r.raw,
    r.organization_id as "organizationId",
    r.mode,
    r.email_id as "emailId",
    r.position`;

const TEXTS = { inbound_reports: textFor('inbound_reports'), feedback_reports: textFor('feedback_reports') };

export function claimReports(table: ReportTable, now: Date, until: Date, limit: number): Statement<ClaimedRow> {
  return { name: `claim-${table.replaceAll('_', '-')}`, text: TEXTS[table], values: [now, until, limit] };
}
