import type { Client } from 'pg';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly values: readonly string[] | null;
}

/** What has to be given a value: with a list of values where a check has one. */
const COLUMNS = `
  select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
    (select array_agg(m[1]) from pg_constraint k
     cross join lateral regexp_matches(pg_get_constraintdef(k.oid), '''([^'']+)''::text', 'g') m
     where k.conrelid = a.attrelid and k.contype = 'c' and k.conkey = array[a.attnum]) as values
  from pg_attribute a
  where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attnotnull
    and not a.atthasdef and a.attidentity = '' and a.attgenerated = ''
  order by a.attnum`;

/**
 * Puts so many rows into each table of a schema that this code need not know: values come from types and checks. Ids are of
 * today, so that the rows of partitioned tables lie in one month.
 * @param client as a superuser: neither triggers nor foreign keys apply
 */
export async function fillWithAnyRows(client: Client, tables: readonly string[], count: number): Promise<void> {
  await client.query('set session_replication_role = replica');
  for (const table of tables) {
    const { rows: columns } = await client.query<Column>(COLUMNS, [table]);
    const names = columns.map(({ name }) => name).join(', ');
    const values = columns.map(expressionFor).join(', ');
    await client.query(`insert into ${table} (${names}) select ${values} from generate_series(1, ${count}) n`);
  }
  await client.query('reset session_replication_role');
}

/** SQL over `n`, the number of the row. */
function expressionFor({ name, type, values }: Column): string {
  if (values) return `'${values[0]}'`;
  const array = /\[\]$/.test(type);
  if (array) return `array[]::${type}`;
  switch (type) {
    case 'uuid':
      return `overlay(gen_random_uuid()::text placing '0199' from 1 for 4)::uuid`;
    case 'text':
    case 'character varying':
      return `'${name} ' || n`;
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'numeric':
    case 'real':
    case 'double precision':
      return `n::${type}`;
    case 'boolean':
      return 'false';
    case 'bytea':
      return `decode(lpad(to_hex(n), 64, '0'), 'hex')`;
    case 'date':
      return `'2026-01-01'::date + n::integer`;
    case 'timestamp with time zone':
      return `'2026-01-01T00:00:00Z'::timestamptz + n * interval '1 hour'`;
    case 'interval':
      return `'1 hour'::interval`;
    case 'inet':
      return `'192.0.2.1'::inet`;
    case 'jsonb':
    case 'json':
      return `'{}'::${type}`;
    default:
      throw new Error(`${name} is ${type}: say in test/factories/any-rows.ts what it can be`);
  }
}
