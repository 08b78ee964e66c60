/** What a column holds of people; `none` when nothing. The words are explained in docs/data-map.md. */
type Personal = 'none' | 'address' | 'masked' | 'hash' | 'name' | 'content' | 'activity' | 'ip' | 'text' | 'sealed';

/** A kind and a purpose, like `address: who it is for`. */
export type ColumnComments = Readonly<Record<string, `${Personal}: ${string}`>>;

/** The tenant, and whether it is live or a test. */
export const OWNER = { organization_id: 'none: the tenant', mode: 'none: live or test' } as const;

/**
 * SQL that says of each column of a table what it holds of people, what for, and how long it is kept.
 *
 * @param retention the name of a setting, or words
 */
export function commentOn(table: string, retention: string, columns: ColumnComments): string {
  return Object.entries(columns)
    .map(([column, said]) => {
      const [personal, purpose] = said.split(/: (.*)/s, 2);
      const comment = `pii: ${personal}; purpose: ${purpose}; retention: ${retention}`;
      return `comment on column ${table}.${column} is '${comment.replaceAll("'", "''")}';\n`;
    })
    .join('');
}

/** SQL that changes how long the rows of a table are kept in what is said of each of its columns. */
export function keptFor(table: string, retention: string): string {
  return `
    do $$
    declare
      said record;
    begin
      for said in
        select attname, col_description(attrelid, attnum) as comment
        from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped
      loop
        execute format('comment on column ${table}.%I is %L', said.attname,
          regexp_replace(said.comment, 'retention: .*$', 'retention: ${retention}'));
      end loop;
    end $$;
  `;
}
