// Adds or drops a month of a table.
// Writes: the catalogue, and the rows that move out of the default partition. Locks: an advisory lock; the table against
// everybody, waited for 1.5 s at most, since others wait behind it.
// Not the ORM: functions of the schema (migration 0027).
import type { Statement } from '../../../../database/statement';
import type { Month, MonthlyTable } from '../months';

/** `busy`: another process is changing partitions. `too_large`: more would have to be moved than may wait. */
export type Added = 'created' | 'present' | 'busy' | 'too_large';
export type Dropped = 'dropped' | 'absent' | 'busy';

export function addMonth(table: MonthlyTable, month: Month, maxMovedBytes: number): Statement<{ result: Added }> {
  const text = 'select add_month_partition($1, $2::date, $3) as result';
  return { name: 'add-month', text, values: [table, dateOf(month), maxMovedBytes] };
}

export function dropMonth(table: MonthlyTable, month: Month): Statement<{ result: Dropped }> {
  const text = 'select drop_month_partition($1, $2::date) as result';
  return { name: 'drop-month', text, values: [table, dateOf(month)] };
}

function dateOf(month: Month): string {
  return month.toISOString().slice(0, 10);
}
