// Deletes up to $3 rows of a month from a default partition.
// Writes: one default partition (whole: as a rule it is empty). Locks: the rows, skip locked. Rows: up to $3.
// Without organization: retention is the same for all. Not the ORM: a bounded delete.
import type { Statement } from '../../../../database/statement';
import { idsOf, type Month, type MonthlyTable } from '../months';
import { keyOf } from './list-months.sql';

const text = (table: MonthlyTable) => `
  delete from ${table}_default
  where ctid = any (array(
    select ctid from ${table}_default
    where ${keyOf(table)} >= $1 and ${keyOf(table)} < $2
    limit $3
    for update skip locked
  ))
  returning 1 as deleted`;

export function deleteStrays(table: MonthlyTable, month: Month, limit: number): Statement<{ deleted: 1 }> {
  const { from, to } = idsOf(month);
  return { name: `delete-strays-of-${table}`, text: text(table), values: [from, to, limit] };
}
