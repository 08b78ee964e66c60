// How many reports are still to be worked off, and how old the oldest is at $1.
// Reads: inbound_reports, feedback_reports (partial indexes on the open ones). Locks: none. Rows: one.
// Not the ORM: aggregates over two tables. Asked for when metrics are read.
import type { Statement } from '../../../database/statement';

export interface ReportsMeasure {
  open: number;
  oldestSeconds: number;
}

const TEXT = `
  select
    count(*)::int as open,
    coalesce(greatest(0, extract(epoch from $1::timestamptz - min(received_at))), 0)::float8 as "oldestSeconds"
  from (
    select received_at from inbound_reports where processed_at is null
    union all
    select received_at from feedback_reports where processed_at is null
  ) open_reports`;

export function measureReports(now: Date): Statement<ReportsMeasure> {
  return { name: 'measure-reports', text: TEXT, values: [now] };
}
