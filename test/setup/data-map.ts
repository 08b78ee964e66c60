import type { Queryable } from '../factories/tenants';

/** One column of a migrated database, with the comment from its migration. */
export interface MappedColumn {
  readonly table: string;
  readonly column: string;
  readonly comment: string | null;
}

const FORM = /^pii: (\w+); purpose: (.+); retention: (.+)$/;
const BEGIN = '<!-- data map: made by the migrations, see test/integration/database/data-map.spec.ts -->';
const END = '<!-- end of the data map -->';

/** Every column of every table; a partitioned table counts once. */
export function readDataMap(db: Queryable): Promise<MappedColumn[]> {
  return db.query(
    `select c.relname as table, a.attname as column, col_description(c.oid, a.attnum) as comment
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> 'schema_migrations' and a.attnum > 0 and not a.attisdropped
     order by c.relname, a.attnum`,
  );
}

/** Columns without a comment, or with one that is not in the map's form. */
export function unmapped(columns: readonly MappedColumn[]): string[] {
  return columns.filter(({ comment }) => !FORM.test(comment ?? '')).map(({ table, column }) => `${table}.${column}`);
}

/** The page with its map generated again from the columns. @throws when the page has no marks for a map */
export function withDataMap(page: string, columns: readonly MappedColumn[]): string {
  const [before, after] = [page.split(BEGIN)[0], page.split(END)[1]];
  if (before === undefined || after === undefined) throw new Error('The page has no marks for the data map');
  return `${before}${BEGIN}\n<!-- prettier-ignore-start -->\n\n${render(columns)}\n<!-- prettier-ignore-end -->\n${END}${after}`;
}

function render(columns: readonly MappedColumn[]): string {
  const tables = new Map<string, MappedColumn[]>();
  for (const column of columns) tables.set(column.table, [...(tables.get(column.table) ?? []), column]);
  return [...tables].map(([table, its]) => renderTable(table, its)).join('\n');
}

function renderTable(table: string, columns: readonly MappedColumn[]): string {
  const rows = columns.map(({ column, comment }) => {
    const [, personal, purpose, retention] = FORM.exec(comment ?? '') ?? [];
    return `| \`${column}\` | ${personal} | ${purpose} | ${retention} |`;
  });
  return [
    `## \`${table}\``,
    '',
    '| Column | Personal data | Purpose | Kept |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
