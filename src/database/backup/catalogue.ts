import type { Client } from 'pg';
import type { QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../schema/migrations';
import { MIGRATIONS_TABLE } from '../schema/schema-state';
import type { BackupHeader, BackupSequence, BackupTable } from './backup-format';

/** In the schema of the service, and not an extension's. */
const OURS = (oid: string, namespace: string, catalogue: string): string => `
  ${namespace} = current_schema()::regnamespace and not exists (
    select from pg_depend d where d.classid = '${catalogue}'::regclass and d.objid = ${oid} and d.deptype = 'e'
  )`;

/** Their default makes them again, in rows of before as well, which are then compressed (docs/adr/0041-compressed-contents.md). */
const MADE_AGAIN = `(c.relname, a.attname) in (values ('email_contents', 'padding'))`;

/** Unlogged tables hold what a crash may lose as well. */
const TABLES = `
  select c.relname as name,
    array(
      select a.attname::text from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and not ${MADE_AGAIN}
      order by a.attnum
    ) as columns,
    array(
      select translate(right(p.relname, 7), '_', '-') || '-01' from pg_inherits i join pg_class p on p.oid = i.inhrelid
      where i.inhparent = c.oid and p.relname ~ '_[0-9]{4}_[0-9]{2}$' order by 1
    ) as months
  from pg_class c
  where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p' and c.relname <> '${MIGRATIONS_TABLE}'
    and ${OURS('c.oid', 'c.relnamespace', 'pg_class')}
  order by c.relname`;

const SEQUENCES = `
  select sequencename as name, coalesce(last_value, start_value)::text as "lastValue", last_value is not null as "isCalled"
  from pg_sequences
  where schemaname = current_schema() and sequencename <> '${MIGRATIONS_TABLE}_id_seq'
  order by sequencename`;

/** Statements that drop whatever the service, or an earlier release of it, has made. */
const DROPS = `
  select statement from (
    select 1 as step, format('drop table if exists %I cascade', c.relname) as statement
    from pg_class c
    where c.relkind in ('r', 'p') and not c.relispartition and ${OURS('c.oid', 'c.relnamespace', 'pg_class')}
    union all
    select 2, format('drop routine if exists %s', p.oid::regprocedure)
    from pg_proc p where ${OURS('p.oid', 'p.pronamespace', 'pg_proc')}
    union all
    select 3, format('drop sequence if exists %I cascade', c.relname)
    from pg_class c where c.relkind = 'S' and ${OURS('c.oid', 'c.relnamespace', 'pg_class')}
    union all
    select 4, format('drop type if exists %I cascade', t.typname)
    from pg_type t
    where t.typtype in ('e', 'd') and ${OURS('t.oid', 't.typnamespace', 'pg_type')}
  ) as drops order by step`;

export type Connection = Pick<Client, 'query'>;

/** The tables that a backup holds. */
export async function listTables(client: Connection): Promise<BackupTable[]> {
  return (await client.query<BackupTable & object>(TABLES)).rows;
}

/** The sequences that a backup holds. */
export async function listSequences(client: Connection): Promise<BackupSequence[]> {
  return (await client.query<BackupSequence & object>(SEQUENCES)).rows;
}

/** Drops what the database holds, before a restore. */
export async function dropEverything(client: Connection): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(DROPS);
  for (const { statement } of rows) await client.query(statement);
}

/** The tables of a backup, empty and without their triggers, by the migrations that it names. */
export async function makeSchema(
  client: Connection,
  { migrations, tables }: BackupHeader,
  note: (message: string) => void,
): Promise<void> {
  note(`making the schema of ${migrations.length} migrations`);
  await client.query(
    `create table ${MIGRATIONS_TABLE} (id serial primary key, "timestamp" bigint not null, name character varying not null)`,
  );
  const query = async (text: string, values?: unknown[]) => (await client.query(text, values)).rows as unknown[];
  const runner = { query, isTransactionActive: true } as unknown as QueryRunner;
  for (const migration of MIGRATIONS) {
    const each = new migration();
    if (!migrations.includes(each.name)) continue;
    await each.up(runner);
    const insert = `insert into ${MIGRATIONS_TABLE} ("timestamp", name) values ($1, $2)`;
    await client.query(insert, [each.name.slice(-13), each.name]);
  }
  // Triggers guard rows against changes, and these are as they were.
  for (const { name } of await listTables(client)) {
    await client.query(`alter table ${identifier(name)} disable trigger user; truncate ${identifier(name)}`);
  }
  for (const table of tables) await addMonths(client, table);
}

/** Rows of a month without a partition would go into the default one. */
async function addMonths(client: Connection, { name, months }: BackupTable): Promise<void> {
  for (const month of months) await client.query('select add_month_partition($1, $2::date, 0)', [name, month]);
}

/** Quoted as an identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The columns as SQL, quoted and joined by commas. */
export function columnList({ columns }: Pick<BackupTable, 'columns'>): string {
  return columns.map(identifier).join(', ');
}
