// The queue that the stored reports are: claimed, ended, measured.
import type { Statement } from '../../../database/statement';
import type { ClaimedReport, ReportTable, ReportTarget } from '../inbound-report';

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

// Takes up to $3 open reports for one worker until $2, oldest first; a claimed report is one worker's alone, and a claim
// that outlives its worker ends by itself. Counting before the work begins ends reports that bring their worker down.
// Writes: the report table (partial index on the open ones). Locks: the rows, skip locked. Rows: up to $3.
// Without organization: a background job of the whole installation.
// Not the ORM: `for update skip locked` with `returning`.
const claimText = (table: ReportTable) => `
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

const CLAIM_REPORTS = {
  inbound_reports: claimText('inbound_reports'),
  feedback_reports: claimText('feedback_reports'),
};

export function claimReports(table: ReportTable, now: Date, until: Date, limit: number): Statement<ClaimedRow> {
  return { name: `claim-${table.replaceAll('_', '-')}`, text: CLAIM_REPORTS[table], values: [now, until, limit] };
}

// Ends the work on one report, unless another worker has taken it up meanwhile or has ended it. What it said is of no more
// use then, and is other people's words about other people: it goes at once.
// Writes: the report table (index on id). Locks: the row. Rows: 0 or 1.
// Not the ORM: a compare-and-set in the transaction that records the outcome.
const OWN_CLAIM = 'id = $1 and attempts = $2 and processed_at is null';

const SETTLE_INBOUND = `
  update inbound_reports
  set processed_at = $3, disposition = $4, claimed_until = null, raw = ''
  where ${OWN_CLAIM}
  returning 1 as settled`;

const SETTLE_FEEDBACK = `
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
  where ${OWN_CLAIM}
  returning 1 as settled`;

export interface ReportEnd {
  readonly processedAt: Date;
  readonly disposition: string;
  readonly subject: ReportTarget | undefined;
}

export function settleReport(
  { table, id, attempts }: ClaimedReport,
  { processedAt, disposition, subject }: ReportEnd,
): Statement<{ settled: 1 }> {
  const values = [id, attempts, processedAt, disposition];
  if (table === 'inbound_reports') return { name: 'settle-inbound-report', text: SETTLE_INBOUND, values };
  const owner = [subject?.organizationId, subject?.mode, subject?.emailId, subject?.position];
  const all = [...values, ...owner.map((value) => value ?? null)];
  return { name: 'settle-feedback-report', text: SETTLE_FEEDBACK, values: all };
}

export interface ReportsMeasure {
  open: number;
  oldestSeconds: number;
}

// How many reports are still to be worked off, and how old the oldest is at $1.
// Reads: inbound_reports, feedback_reports (partial indexes on the open ones). Locks: none. Rows: one.
// Not the ORM: aggregates over two tables. Asked for when metrics are read.
const MEASURE_REPORTS = `
  select
    count(*)::int as open,
    coalesce(greatest(0, extract(epoch from $1::timestamptz - min(received_at))), 0)::float8 as "oldestSeconds"
  from (
    select received_at from inbound_reports where processed_at is null
    union all
    select received_at from feedback_reports where processed_at is null
  ) open_reports`;

export function measureReports(now: Date): Statement<ReportsMeasure> {
  return { name: 'measure-reports', text: MEASURE_REPORTS, values: [now] };
}
