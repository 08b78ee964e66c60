// Which months the tables have partitions for, and of which months rows lie in the default partitions.
// Reads: the catalogue, and the default partitions (whole: as a rule they are empty). Locks: none. Rows: some dozens.
// Not the ORM: the catalogue; the same of several tables.
import type { Statement } from '../../../../database/statement';
import { idsOf, type Month, MONTHLY_TABLES, type MonthlyTable } from '../months';

const PARTITIONS = `
  select t.name as table, to_date(right(c.relname, 7), 'YYYY_MM')::timestamp at time zone 'UTC' as month
  from unnest($1::text[]) as t (name)
  join pg_inherits i on i.inhparent = t.name::regclass
  join pg_class c on c.oid = i.inhrelid
  where c.relname ~ '_[0-9]{4}_[0-9]{2}$'`;

export function listPartitions(): Statement<{ table: MonthlyTable; month: Month }> {
  return { name: 'list-partitions', text: PARTITIONS, values: [MONTHLY_TABLES] };
}

const countDefaultRows = (table: MonthlyTable) => `
  select '${table}' as table, month, count(*)::float8 as rows
  from (
    select date_trunc(
      'month', to_timestamp(('x' || translate(left(${keyOf(table)}::text, 13), '-', ''))::bit(48)::bigint / 1000.0), 'UTC'
    ) as month
    from ${table}_default
  ) made
  group by month`;

/** Rows of default partitions, by the month to which they belong. */
export function listDefaultRows(): Statement<{ table: MonthlyTable; month: Month; rows: number }> {
  return { name: 'list-default-rows', text: MONTHLY_TABLES.map(countDefaultRows).join(' union all '), values: [] };
}

// Makes this transaction the one that changes partitions, or returns that another one is.
// Reads: nothing. Locks: the advisory lock of create_month_partitions, until the end of the transaction. Rows: one.
// Not the ORM: advisory locks.

const LOCK = `select pg_try_advisory_xact_lock(hashtext('create_month_partitions')) as "isOurs"`;

export function lockPartitions(): Statement<{ isOurs: boolean }> {
  return { name: 'lock-partitions', text: LOCK, values: [] };
}

// Adds or drops a month of a table.
// Writes: the catalogue, and the rows that move out of the default partition. Locks: an advisory lock; the table against
// all others, waited for 1.5 s at most, since others wait behind it.
// Not the ORM: functions of the schema (migration 0027).

/** `busy`: another process is changing partitions. `too_large`: more would have to be moved than may wait. */
export type Added = 'created' | 'present' | 'busy' | 'too_large';
export type Dropped = 'dropped' | 'absent' | 'busy';

export function addPartition(table: MonthlyTable, month: Month, maxMovedBytes: number): Statement<{ result: Added }> {
  const text = 'select add_month_partition($1, $2::date, $3) as result';
  return { name: 'add-partition', text, values: [table, dateOf(month), maxMovedBytes] };
}

export function dropPartition(table: MonthlyTable, month: Month): Statement<{ result: Dropped }> {
  const text = 'select drop_month_partition($1, $2::date) as result';
  return { name: 'drop-partition', text, values: [table, dateOf(month)] };
}

function dateOf(month: Month): string {
  return month.toISOString().slice(0, 10);
}

// The key of the $3th row of a month in a default partition; nothing when there are fewer.
// Reads: one default partition (whole: as a rule it is empty). Locks: none. Rows: one.
// Not the ORM: a place in an order.

const nthKey = (table: MonthlyTable) => `
  select ${keyOf(table)} as key
  from ${table}_default
  where ${keyOf(table)} >= $1 and ${keyOf(table)} < $2
  order by ${keyOf(table)}
  offset $3::int - 1
  limit 1`;

export function findNthDefaultKey(table: MonthlyTable, month: Month, place: number): Statement<{ key: string }> {
  const { from, to } = idsOf(month);
  return { name: `find-default-key-of-${table}`, text: nthKey(table), values: [from, to, place] };
}

// Deletes the rows of a month from a default partition, up to a key.
// Writes: one default partition (whole: as a rule it is empty). Locks: the rows. Rows: what lies between two keys.
// Without organization: retention is the same for all. By keys, without row locks and limits: so it also runs where the rows
// are on several nodes (docs/scaling.md). Not the ORM: the count of a delete.

const deleteFrom = (table: MonthlyTable) => `
  delete from ${table}_default
  where ${keyOf(table)} >= $1 and ${keyOf(table)} < $2 and ($3::uuid is null or ${keyOf(table)} <= $3)
  returning 1 as deleted`;

/** @param lastKey undefined: up to the month's end */
export function deleteDefaultRows(
  table: MonthlyTable,
  month: Month,
  lastKey: string | undefined,
): Statement<{ deleted: 1 }> {
  const { from, to } = idsOf(month);
  return { name: `delete-default-rows-of-${table}`, text: deleteFrom(table), values: [from, to, lastKey ?? null] };
}

/** The column by which a table is partitioned. */
export function keyOf(table: MonthlyTable): string {
  return table === 'emails' ? 'id' : 'email_id';
}
