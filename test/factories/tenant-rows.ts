import type { OpenTestDatabase } from '../setup/open-test-database';

export interface TenantTable {
  readonly name: string;
  /** Whose row it is: `organization_id`, or the `id` of an organization. */
  readonly column: string;
  /** Types of the other columns of the primary key, by name. */
  readonly key: Readonly<Record<string, string>>;
}

/** Every table with rows of one organization, from the catalogue: one that is added by a migration is among them. */
export async function tenantTables(db: OpenTestDatabase): Promise<TenantTable[]> {
  const columns = await db.query<{ table: string; column: string; type: string; isKey: boolean }>(`
    select c.relname as "table", a.attname as "column", format_type(a.atttypid, a.atttypmod) as type,
      coalesce(a.attnum = any (p.conkey), false) and a.attidentity = '' as "isKey"
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_constraint p on p.conrelid = c.oid and p.contype = 'p'
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
    order by c.relname, a.attnum`);
  return [...new Set(columns.map(({ table }) => table))].flatMap((name) => {
    const own = columns.filter(({ table }) => table === name);
    const column = name === 'organizations' ? 'id' : 'organization_id';
    if (!own.some((entry) => entry.column === column)) return [];
    const rest = own.filter((entry) => entry.isKey && entry.column !== column);
    return [{ name, column, key: Object.fromEntries(rest.map(({ column: key, type }) => [key, type])) }];
  });
}

/**
 * One row of each organization in each table, with no more than its key: what else the schema asks of a row is taken away
 * from this database before.
 */
export async function fillWithRowsOf(
  db: OpenTestDatabase,
  tables: readonly TenantTable[],
  organizationIds: readonly string[],
): Promise<void> {
  for (const table of tables) {
    await db.query(RELAX.replaceAll(':table', table.name));
    for (const id of organizationIds) await db.query(...rowOf(table, id));
  }
}

/** A statement that inserts a row of an organization, and its values; no two have the same key. */
export function rowOf({ name, column, key }: TenantTable, organizationId: string): [text: string, values: string[]] {
  const columns = [column, ...Object.keys(key)];
  const text = `insert into ${name} (${columns.join(', ')}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')})`;
  made += 1;
  return [text, [organizationId, ...Object.values(key).map((type) => valueOf(type, made))]];
}

let made = 0;

const RELAX = `
  do $$ declare
    entry record;
  begin
    alter table :table disable trigger user;
    for entry in
      select conname from pg_constraint
      where conrelid = ':table'::regclass and contype in ('c', 'f') and coninhcount = 0
    loop
      execute format('alter table :table drop constraint %I', entry.conname);
    end loop;
    for entry in
      select attname from pg_attribute
      where attrelid = ':table'::regclass and attnum > 0 and not attisdropped and attnotnull and attidentity = ''
        and attnum <> all (select unnest(conkey) from pg_constraint where conrelid = ':table'::regclass and contype = 'p')
    loop
      execute format('alter table :table alter column %I drop not null', entry.attname);
    end loop;
  end $$`;

function valueOf(type: string, number: number): string {
  switch (type) {
    case 'uuid':
      return `01a1fe65-4f3c-7d20-9b0e-${String(number).padStart(12, '0')}`;
    case 'text':
    case 'smallint':
    case 'integer':
    case 'bigint':
      return String(number);
    case 'boolean':
      return String(number % 2 === 1);
    case 'bytea':
      return `\\x${String(number).padStart(4, '0')}`;
    case 'date':
    case 'timestamp with time zone':
      return '2026-01-01';
    default:
      throw new Error(`A key of the type ${type}: say here what it can be`);
  }
}
