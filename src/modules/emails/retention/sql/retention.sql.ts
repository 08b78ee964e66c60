import type { Mode } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';
import { idsOf, type Month, MONTHLY_TABLES, type MonthlyTable } from '../months';

// Deletes the contents of emails that reached their final state by $6, among the next $5 of a tenant.
// Writes: email_contents, email_attachments (primary keys). Reads: email_recipients, email_events (primary keys).
// Locks: the contents, skip locked. Rows: up to $5 emails; those without content are not examined, because the scan goes over
// contents, not emails.
// Not the ORM: four tables in one round trip.
const TEXT = `
  with examined as materialized (
    select email_id
    from email_contents
    where organization_id = $1 and mode = $2 and email_id > $3 and email_id < $4
    order by email_id
    limit $5
  ), over as materialized (
    select c.email_id
    from examined l
    join email_contents c on c.organization_id = $1 and c.mode = $2 and c.email_id = l.email_id
    where not exists (
      select 1 from email_recipients r
      where r.organization_id = $1 and r.mode = $2 and r.email_id = l.email_id and r.status = any ($7)
    ) and not exists (
      select 1 from email_events e
      where e.organization_id = $1 and e.mode = $2 and e.email_id = l.email_id
        and e.occurred_at > $6 and e.event_type = any ($8)
    )
    order by c.email_id
    for update of c skip locked
  ), without_attachments as (
    delete from email_attachments a using over o
    where a.organization_id = $1 and a.mode = $2 and a.email_id = o.email_id
  ), deleted as (
    delete from email_contents c using over o
    where c.organization_id = $1 and c.mode = $2 and c.email_id = o.email_id
    returning 1
  )
  select
    (select count(*) from examined)::int as "examined",
    (select email_id from examined order by email_id desc limit 1) as "lastId",
    (select count(*) from deleted)::int as deleted`;

/** Statuses of recipients that are not final. */
const OPEN = ['queued', 'scheduled', 'sending'];
/** Events that lead to a final status, or to another one. */
const ENDS = ['sent', 'delivered', 'bounced', 'hard_bounce', 'soft_bounce', 'blocked', 'failed', 'cancelled'];

export interface ContentPage {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Range of email ids, both ends exclusive. */
  readonly afterId: string;
  readonly beforeId: string;
  /** Emails that ended later keep their content. */
  readonly endedBefore: Date;
}

export interface DeletedContents {
  readonly examined: number;
  readonly lastId: string | null;
  readonly deleted: number;
}

/** Returns one row. @param limit emails to examine; fewer `examined` emails mean that the end of the range is reached */
export function deleteContents(page: ContentPage, limit: number): Statement<DeletedContents> {
  const { organizationId, mode, afterId, beforeId, endedBefore } = page;
  return {
    name: 'delete-contents',
    text: TEXT,
    values: [organizationId, mode, afterId, beforeId, limit, endedBefore, OPEN, ENDS],
  };
}

// Lists the months for which the tables have partitions, and the months of rows in the default partitions.
// Reads: the catalogue, and the default partitions (full scan: they are usually empty). Locks: none. Rows: some dozens.
// Not the ORM: the catalogue; one query over several tables.
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

/** Numbers of rows in the default partitions, by the month to which they belong. */
export function listDefaultRows(): Statement<{ table: MonthlyTable; month: Month; rows: number }> {
  return { name: 'list-default-rows', text: MONTHLY_TABLES.map(countDefaultRows).join(' union all '), values: [] };
}

// Reserves changes of partitions for this transaction, unless another one has reserved them.
// Reads: nothing. Locks: the advisory lock of create_month_partitions, until the end of the transaction. Rows: one.
// Not the ORM: advisory locks.
const LOCK = `select pg_try_advisory_xact_lock(hashtext('create_month_partitions')) as "isOurs"`;

/** Returns one row; `isOurs` is false while another transaction changes partitions. */
export function lockPartitions(): Statement<{ isOurs: boolean }> {
  return { name: 'lock-partitions', text: LOCK, values: [] };
}

// Adds or drops a month of a table.
// Writes: the catalogue, and the rows that move out of the default partition. Locks: an advisory lock; the table exclusively. It
// waits for the table 1.5 s at most, because other statements queue behind it. A drop waits for the advisory lock as well: what
// is skipped would stay for an hour.
// Not the ORM: functions of the schema (migration 0027).
/** `busy`: another process changes partitions. `too_large`: the rows to be moved exceed the limit. */
export type Added = 'created' | 'present' | 'busy' | 'too_large';
export type Dropped = 'dropped' | 'absent';

/** @param maxMovedBytes of rows in the default partition; with more, nothing changes (`too_large`) */
export function addPartition(table: MonthlyTable, month: Month, maxMovedBytes: number): Statement<{ result: Added }> {
  const text = 'select add_month_partition($1, $2::date, $3) as result';
  return { name: 'add-partition', text, values: [table, dateOf(month), maxMovedBytes] };
}

/** Deletes all rows of the month, except those in the default partition. */
export function dropPartition(table: MonthlyTable, month: Month): Statement<{ result: Dropped }> {
  const turn = `select pg_advisory_xact_lock(hashtext('create_month_partitions'))`;
  const text = `select drop_month_partition($1, $2::date) as result from (${turn}) as turn`;
  return { name: 'drop-partition', text, values: [table, dateOf(month)] };
}

function dateOf(month: Month): string {
  return month.toISOString().slice(0, 10);
}

// Finds the key of the $3th row of a month in a default partition; no row when there are fewer.
// Reads: one default partition (full scan: it is usually empty). Locks: none. Rows: one.
// Not the ORM: a position in an order.

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
// Writes: one default partition (full scan: it is usually empty). Locks: the rows. Rows: those between two keys.
// Without organization: retention is the same for all. By keys, without row locks and limits, so that it also runs where the rows
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
