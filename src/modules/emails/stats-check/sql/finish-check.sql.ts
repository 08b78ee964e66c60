// Writes down what the check of a day has found; the newest result is the metric's.
// Writes, reads: stats_checks (primary key). Locks: its row. Rows: one.
// Not the ORM: one row beside the statement that claims it.
import type { Statement } from '../../../../database/statement';

export function finishCheck(day: string, drift: number, now: Date): Statement<never> {
  const text = 'update stats_checks set finished_at = $3, drift = $2 where day = $1';
  return { name: 'finish-stats-check', text, values: [day, drift, now] };
}

export function readNewestCheck(): Statement<{ drift: number }> {
  const text = 'select drift from stats_checks where finished_at is not null order by day desc limit 1';
  return { name: 'read-newest-stats-check', text, values: [] };
}
