// The queue that the stored reports are: claimed, ended, measured.
import type { Statement } from '../../../../database/statements/statement';
import type { ClaimedReport, PublicMailbox, ReportTarget } from '../inbound-report.entity';

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
  /** Of feedback_reports. */
  mailbox?: PublicMailbox;
}

// Takes up to $3 open reports for one worker until $2; a claimed report is one worker's alone, and a claim that outlives its
// worker ends by itself; one that ends later than a claim made now was made before the database's clock was set back, and would last as
// much longer. Counting before the work begins ends reports that bring their worker down.
// Without organization: a background job of the whole installation.
// Not the ORM: `for update skip locked` with `returning`.
const isOpen = (latest: string): string =>
  `processed_at is null and (claimed_until is null or claimed_until <= $1 or claimed_until > ${latest} + interval '5 seconds')`;
const IS_OPEN = isOpen('$2::timestamptz');

/** Whether there are any. @param claimSeconds how long a claim lasts; clocks of processes differ by up to 5 s */
export function hasReports(claimSeconds: number): string {
  const open = isOpen(`$1::timestamptz + interval '${claimSeconds} seconds'`);
  return `(exists (select from inbound_reports where ${open}) or exists (select from feedback_reports where ${open}))`;
}

const RETURNED = `
    r.id,
    r.attempts,
    r.received_at as "receivedAt",
    r.raw,
    r.organization_id as "organizationId",
    r.mode,
    r.email_id as "emailId",
    r.position`;

// Of the next organizations after $4 that have any, the same number each, oldest first: a flood for one delays no other.
// Writes: inbound_reports (index inbound_reports_open: one look-up for each organization, then one for its reports).
// Locks: the rows, skip locked. Rows: up to $3.
const CLAIM_INBOUND = `
  with recursive waiting as (
    (
      select organization_id from inbound_reports
      where ${IS_OPEN} and organization_id > $4
      order by organization_id limit 1
    )
    union all
    select next.organization_id
    from waiting
    cross join lateral (
      select organization_id from inbound_reports
      where ${IS_OPEN} and organization_id > waiting.organization_id
      order by organization_id limit 1
    ) next
  ), turns as materialized (
    select organization_id, count(*) over () as organizations
    from (select organization_id from waiting limit $3) next
  ), open as materialized (
    select report.id
    from turns t
    cross join lateral (
      select id from inbound_reports
      where ${IS_OPEN} and organization_id = t.organization_id
      order by id
      limit ($3 + t.organizations - 1) / t.organizations
      for update skip locked
    ) report
    limit $3
  )
  update inbound_reports r
  set attempts = r.attempts + 1, claimed_until = $2
  from open
  where r.id = open.id
  returning ${RETURNED}`;

export type ClaimedInboundRow = ClaimedRow & { organizationId: string };

/** @param after an organization's id, see `OrganizationRing` */
export function claimInboundReports(
  now: Date,
  until: Date,
  limit: number,
  after: string,
): Statement<ClaimedInboundRow> {
  return { name: 'claim-inbound-reports', text: CLAIM_INBOUND, values: [now, until, limit, after] };
}

// Mail to public mailboxes belongs to no organization until it has been read: the oldest first.
// Writes: feedback_reports (index feedback_reports_open). Locks: the rows, skip locked. Rows: up to $3.
const CLAIM_FEEDBACK = `
  with open as (
    select id
    from feedback_reports
    where ${IS_OPEN}
    order by id
    limit $3
    for update skip locked
  )
  update feedback_reports r
  set attempts = r.attempts + 1, claimed_until = $2
  from open
  where r.id = open.id
  returning ${RETURNED}, r.mailbox`;

export function claimFeedbackReports(now: Date, until: Date, limit: number): Statement<ClaimedRow> {
  return { name: 'claim-feedback-reports', text: CLAIM_FEEDBACK, values: [now, until, limit] };
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
    raw = case when mailbox in ('fbl', 'dmarc', 'tls-reports') then '' else raw end,
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
