import { INSTEAD, RELEASED, SMALL_TABLES } from '../setup/large-tables';
import { MIGRATION_SOURCES, sourcesNamed } from './source-files';

interface Rule {
  readonly forbidden: RegExp;
  readonly instead: string;
}

/** Of a table that may be large; `TABLE` stands for its name. What they miss, test/integration/database/migrations finds. */
const RULES: readonly Rule[] = [
  { forbidden: /create (?:unique )?index (?!concurrently)[^(]*?\bon (?:only )?TABLE\b/, instead: INSTEAD.index },
  { forbidden: /\b(?:update (?:only )?|delete from (?:only )?|truncate (?:table )?)TABLE\b/, instead: INSTEAD.change },
  { forbidden: /alter table (?:only )?TABLE\b.* (?:set data )?type\b/, instead: INSTEAD.rewrite },
  {
    forbidden: /alter table (?:only )?TABLE\b.* set (?:logged|unlogged|tablespace|access method)/,
    instead: INSTEAD.rewrite,
  },
  {
    forbidden: /alter table (?:only )?TABLE\b.* add (?:column )?.* (?:generated always|serial|bigserial)\b/,
    instead: INSTEAD.rewrite,
  },
  {
    forbidden:
      /alter table (?:only )?TABLE\b.* add .* default \(?(?:gen_random_uuid|clock_timestamp|random|nextval|uuid)/,
    instead: INSTEAD.rewrite,
  },
  { forbidden: /alter table (?:only )?TABLE\b.* set not null/, instead: INSTEAD.constraint },
  {
    forbidden:
      /alter table (?:only )?TABLE\b(?!.* (?:not valid|using index)).* (?:add (?:constraint|check|unique|primary|foreign)|check \()/,
    instead: INSTEAD.constraint,
  },
  {
    forbidden: /\b(?:lock (?:table )?(?:only )?|vacuum (?:full )?|cluster |reindex table )TABLE\b/,
    instead: INSTEAD.lock,
  },
];

/** What is wrong with SQL that runs on full tables, in words. @param made tables that the same migration makes */
function faultsOf(sql: string, large: readonly string[], made: readonly string[] = []): string[] {
  const statements = sql.replace(/--.*$/gm, '').replace(/\s+/g, ' ').toLowerCase().split(';');
  return large
    .filter((table) => !made.includes(table))
    .flatMap((table) =>
      RULES.flatMap(({ forbidden, instead }) =>
        statements
          .filter((statement) => new RegExp(forbidden.source.replaceAll('TABLE', table)).test(statement))
          .map((statement) => `${statement.trim().slice(0, 120)}: ${table} may be large; ${instead}`),
      ),
    );
}

const FILES = sourcesNamed(/\/migrations\/\d{4}-/).toSorted((one, other) => (one.name < other.name ? -1 : 1));
const LIST = sourcesNamed(/^database\/schema\/migrations\.ts$/)[0]?.text ?? '';
const MIGRATIONS = MIGRATION_SOURCES.map((source) => ({
  ...source,
  tables: [...source.text.matchAll(/create (?:unlogged )?table (\w+) \(/gi)].map((match) => match[1] ?? ''),
}));
const LARGE = MIGRATIONS.filter(({ number }) => number <= RELEASED)
  .flatMap(({ tables }) => tables)
  .filter((table) => !SMALL_TABLES.includes(table));
const LATER = MIGRATIONS.filter(({ number }) => number > RELEASED);

describe('migrations', () => {
  it('are all found', () => {
    const classes = FILES.flatMap(({ text }) => text.match(/\bextends \w+Migration\b/g) ?? []);
    expect(MIGRATIONS).toHaveLength(classes.length);
    expect(FILES.filter(({ name }) => !LIST.includes(`'../${name.slice('database/'.length, -'.ts'.length)}'`))).toEqual(
      [],
    );
  });

  it('are numbered in the order of the files, and each file names the first and the last number in it', () => {
    const numbers = MIGRATIONS.map(({ number }) => number);
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
    const names = FILES.map(({ name }) => /[\d-]+(?=-[a-z])/.exec(name)?.[0]);
    expect(names).toEqual(
      FILES.map(({ name }) => {
        const held = MIGRATIONS.filter(({ file }) => file === name).map(({ number }) =>
          String(number).padStart(4, '0'),
        );
        return [...new Set([held[0], held.at(-1)])].join('-');
      }),
    );
  });

  it('are merged once there are six in files of their own: into one file, or into the one before', () => {
    const single = FILES.filter(({ name }) => MIGRATIONS.filter(({ file }) => file === name).length === 1);
    expect(single.length).toBeLessThanOrEqual(5);
  });

  it('say above the class whether old code still runs against the schema', () => {
    const REMARK =
      /^\/\/ Old code (?:still runs|no longer runs).*\n(?:\/\/ .*\n)*(?:\/\*\*(?:(?!\*\/)[^])*\*\/\n)?export class/m;
    expect(MIGRATIONS.filter(({ text }) => !REMARK.test(text)).map(({ name }) => name)).toEqual([]);
  });

  it('neither rewrite nor lock nor fill a table that may be large', () => {
    const faults = LATER.flatMap(({ name, text, tables }) =>
      faultsOf(text, LARGE, tables).map((fault) => `${name}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it.each([
    ['create index i on emails (id)', 'index'],
    ['create unique index\n  i on only emails (id)', 'index'],
    ['update emails e set subject = null', 'change'],
    ['delete from emails where true', 'change'],
    ['alter table emails alter column subject type varchar', 'rewrite'],
    ['alter table emails alter subject set data type varchar', 'rewrite'],
    ['alter table emails add column n bigint generated always as identity', 'rewrite'],
    ['alter table emails add column n uuid not null default gen_random_uuid()', 'rewrite'],
    ['alter table emails set logged', 'rewrite'],
    ['alter table emails alter column subject set not null', 'constraint'],
    ["alter table emails add constraint c check (subject <> '')", 'constraint'],
    ['alter table emails add column n integer default 1 check (n > 0)', 'constraint'],
    ['alter table emails add foreign key (domain_id) references domains (id)', 'constraint'],
    ['-- a comment\nlock table emails in exclusive mode', 'lock'],
  ] as const)('are refused for %j', (sql, what) => {
    const faults = faultsOf(`select 1; ${sql};`, LARGE);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(INSTEAD[what]);
  });

  it.each([
    'create index i on domains (id)',
    'create table emails_more (id uuid primary key); create index i on emails_more (id)',
    'alter table emails add column n integer not null default 1',
    'alter table emails add column n uuid',
    "alter table emails add constraint c check (subject <> '') not valid",
    'alter table emails drop constraint c, drop column n',
    "comment on column emails.subject is 'pii: type; update emails'",
    'drop index emails_old',
  ])('may say %j', (sql) => {
    expect(faultsOf(sql.replace(/'pii: .*'/, "''"), LARGE)).toEqual([]);
  });
});
