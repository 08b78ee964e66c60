// Which months the tables have partitions for, and of which months rows lie in the default partitions.
// Reads: the catalogue, and the default partitions (whole: as a rule they are empty). Locks: none. Rows: some dozens.
// Not the ORM: the catalogue; the same of several tables.
import type { Statement } from '../../../../database/statement';
import { MONTHLY_TABLES, type Month, type MonthlyTable } from '../months';

const PARTITIONS = `
  select t.name as table, to_date(right(c.relname, 7), 'YYYY_MM')::timestamp at time zone 'UTC' as month
  from unnest($1::text[]) as t (name)
  join pg_inherits i on i.inhparent = t.name::regclass
  join pg_class c on c.oid = i.inhrelid
  where c.relname ~ '_[0-9]{4}_[0-9]{2}$'`;

export function listPartitions(): Statement<{ table: MonthlyTable; month: Month }> {
  return { name: 'list-partitions', text: PARTITIONS, values: [MONTHLY_TABLES] };
}

const strays = (table: MonthlyTable) => `
  select '${table}' as table, month, count(*)::float8 as rows
  from (
    select date_trunc(
      'month', to_timestamp(('x' || translate(left(${keyOf(table)}::text, 13), '-', ''))::bit(48)::bigint / 1000.0), 'UTC'
    ) as month
    from ${table}_default
  ) made
  group by month`;

/** Rows of default partitions, by the month to which they belong. */
export function listStrays(): Statement<{ table: MonthlyTable; month: Month; rows: number }> {
  return { name: 'list-strays', text: MONTHLY_TABLES.map(strays).join(' union all '), values: [] };
}

/** The column by which a table is partitioned. */
export function keyOf(table: MonthlyTable): string {
  return table === 'emails' ? 'id' : 'email_id';
}
