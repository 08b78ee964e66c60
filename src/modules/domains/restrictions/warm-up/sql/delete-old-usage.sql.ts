// Forgets the counts of days gone by.
// Writes: warm_up_usage. Locks: the deleted rows, which nobody uses any more. Rows: one per warming domain and day; the
// table holds few days, so it is read as a whole. Not the ORM: a plain delete of one statement.
import type { Statement } from '../../../../../database/statement';

/** @param before a UTC date */
export function deleteOldUsage(before: string): Statement<never> {
  return { name: 'delete-old-usage', text: 'delete from warm_up_usage where day < $1::date', values: [before] };
}
