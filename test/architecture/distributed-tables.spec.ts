import { MIGRATION_SOURCES, sourcesNamed } from './source-files';

/**
 * The tables that can be distributed over nodes by organization (docs/scaling.md). A statement about them is sent to the
 * node of one tenant, so it has the tenant as a parameter, compared with the column by which they are distributed, for every
 * such table that it names; or it is a plain write from arrays: it inserts rows, each with its organization, or updates rows that
 * are joined on it. It names no other table beside them: those are on no node. What inserts does nothing else: ids of events are made
 * where a statement's source is, by the clock of the coordinator only if that is arrays or values.
 */
const LARGE = ['emails', 'email_contents', 'email_attachments', 'email_recipients', 'email_events'];

/** Statements for all tenants, with the reason. They have no row locks and no limits on what they change. */
const MAINTENANCE: Record<string, string> = {
  countDefaultRows: 'how many rows lie in the default partitions; as a rule none',
  nthKey: 'where a slice of a default partition ends; read only',
  deleteFrom: 'deletes a slice of a default partition, by the keys alone',
  FIND_ADDRESSED: 'what an operator looks for in the queue of all organizations, by an address; read only',
};

/** What updates and deletes may call: nodes refuse functions over columns that are not immutable. `unnest` is only selected from. */
const IMMUTABLE = ['array_position', 'jsonb_set', 'lower', 'octet_length', 'unnest'];
/** They stand before brackets and are no functions. */
const WORDS = ['all', 'and', 'any', 'array', 'coalesce', 'exists', 'in', 'least', 'not', 'or', 'set', 'where'];

const NAMES = LARGE.join('|');
const OTHERS = MIGRATION_SOURCES.flatMap(({ text }) =>
  [...text.matchAll(/create (?:unlogged )?table (\w+) \(/gi)].map(([, table = '']) => table),
).filter((table) => !LARGE.includes(table));
const BESIDE = new RegExp(`\\b(?:from|join|into|update|using)\\s+(?:only\\s+)?(${OTHERS.join('|')})\\b`, 'gi');
const NO_ALIAS =
  'where|on|set|using|order|limit|cross|left|inner|join|group|values|select|returning|union|as\\s+materialized';
const MENTION = new RegExp(
  `\\b(from|join|into|update|using)\\s+(?:only\\s+)?((?:${NAMES})(?:_default)?|\\$\\{table\\}\\w*)\\b(?:\\s+(?:as\\s+)?(?!(?:${NO_ALIAS})\\b)([a-z]\\w*))?`,
  'gi',
);

interface SqlText {
  readonly file: string;
  /** Of the constant or function that holds it. */
  readonly name: string;
  readonly sql: string;
}

/** The template literals of a file that name one of the tables. */
function textsOf(file: string, source: string): SqlText[] {
  const literals = [...source.matchAll(/(?:const (\w+) = [^`;]*)?`([^`]*)`/g)];
  return literals.map(([, name = '', sql = '']) => ({ file, name, sql })).filter(({ sql }) => sql.search(MENTION) >= 0);
}

/** An update from arrays, joined on the organization. */
function isPlainWrite(sql: string, verb: string, alias: string): boolean {
  const isJoined = new RegExp(`\\b${alias}\\.organization_id = c\\.organization_id\\b`).test(sql);
  return verb.toLowerCase() === 'update' && isJoined && /\bfrom unnest\(/.test(sql);
}

/** What is wrong with a text; empty: nothing. */
function problemsOf(sql: string): string[] {
  const problems: string[] = [];
  let bare = 0;
  for (const [mention, verb = '', , alias] of sql.matchAll(MENTION)) {
    if (verb.toLowerCase() === 'into') {
      if (!new RegExp(`${mention}\\s*\\(\\s*organization_id\\b`, 'i').test(sql)) {
        problems.push(`${mention}: no organization`);
      }
    } else if (alias === undefined) bare += 1;
    else if (!new RegExp(`\\b${alias}\\.organization_id = \\$\\d`).test(sql) && !isPlainWrite(sql, verb, alias)) {
      problems.push(`${mention}: no tenant`);
    }
  }
  const compared = [...sql.matchAll(/(?<![.\w])organization_id = \$\d/g)].length;
  if (bare > compared) problems.push(`${bare} tables without an alias, ${compared} comparisons with the tenant`);
  const verbs = new Set([...sql.matchAll(MENTION)].map(([, verb = '']) => verb.toLowerCase()));
  if (verbs.has('into') && verbs.size > 1) problems.push('an insert of what a node would have to read or change first');
  for (const [, table] of sql.matchAll(BESIDE)) problems.push(`${table}, which is on no node`);
  if (/\(\s*select\s+from\b/i.test(sql)) problems.push('a subquery without columns: nodes send its rows back');
  for (const change of changesIn(sql)) {
    // A cast of a text is a function that is not immutable; that of a parameter is done before a node sees it.
    if (change.replace(/\$\d+(?:::\w+(?:\[\])?)+/g, '$').includes('::')) {
      problems.push('a change with a cast of a column');
    }
    for (const name of callsIn(change)) {
      if (!IMMUTABLE.includes(name)) problems.push(`a change that calls ${name}`);
    }
  }
  return problems;
}

/** Each update and delete of one of the tables, up to what it returns. */
function changesIn(sql: string): string[] {
  const starts = [...sql.matchAll(new RegExp(`\\b(?:update|delete from)\\s+(?:only\\s+)?(?:${NAMES})\\b`, 'gi'))];
  return starts.map(({ index }) => uptoItsBracket(sql.slice(index)).replace(/\breturning\b[^]*|\$\{[^}]*\}/gi, ''));
}

function uptoItsBracket(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth < 0) return text.slice(0, at);
  }
  return text;
}

/** Names before brackets, other than those of columns: `as c (id, …)`. */
function callsIn(sql: string): string[] {
  const names = [...sql.matchAll(/(?<!\bas\s+)\b([a-z]\w*)\s*\(/gi)].map(([, name = '']) => name.toLowerCase());
  return names.filter((name) => !WORDS.includes(name));
}

/** What an `alter table` does beside adding columns; a migration with it asks whether the rows are on nodes, which refuse most of it. */
function changesOfTables(migration: string): string[] {
  const alters = [...migration.matchAll(new RegExp(`alter table (?:only )?(${NAMES})\\b([^;]*);`, 'g'))];
  const isAddition = (clauses: string) => clauses.split(/,(?![^(]*\))/).every((each) => /^\s*add column\s/.test(each));
  return alters.filter(([, , clauses = '']) => !isAddition(clauses)).map(([, table = '']) => table);
}

const TEXTS = sourcesNamed(/\.sql\.ts$/).flatMap(({ name, text }) => textsOf(name, text));

describe('statements about the large tables', () => {
  it.each([
    ['select 1 from emails where organization_id = $1 and id = $2', 0],
    ['select 1 from emails e join email_contents c on c.organization_id = $1 where e.organization_id = $1', 0],
    ['insert into email_events (organization_id, mode) select n.organization_id, n.mode from unnest($1::uuid[]) n', 0],
    ['select 1 from emails where id = $1', 1],
    ['select 1 from unnest($1::uuid[]) w (organization_id) join emails e using (organization_id)', 1],
    [
      'select 1 from emails e join email_contents c on c.organization_id = e.organization_id where e.organization_id = $1',
      1,
    ],
    ['select 1 from emails where organization_id = $1 union all select 1 from email_events', 1],
    ['delete from ${table}_default where id < $1', 1],
    ['update emails e set metadata = g.head::jsonb from unnest($2) as g (head) where e.organization_id = $1', 1],
    ['insert into emails (id) values ($1)', 1],
    ['select 1 from emails where organization_id = $1 union all select 1 from inbound_emails', 1],
    ['select exists (select from emails where organization_id = $1)', 1],
    ['update email_events v set data = to_jsonb(v.sequence) where v.organization_id = $1 returning now()', 1],
    ['with d as (delete from emails e where e.organization_id = $1 and e.id = any ($2::uuid[])) select now()', 0],
    [
      'with c as (update emails e set status = $2 where e.organization_id = $1 returning e.id) insert into email_events (organization_id) select $1 from c',
      1,
    ],
    ['insert into email_events (organization_id, email_id) select $1, id from emails where organization_id = $1', 1],
    ['insert into email_events (organization_id, email_id) values ($1, event_id(clock_timestamp(), 1))', 0],
    ['update emails e set metadata = $2::text::jsonb where e.organization_id = $1', 0],
    ['delete from email_events e where e.organization_id = $1 and (e.data ->> 1)::int = 2', 1],
  ])('are distinguished: %s', (sql, count) => expect(problemsOf(sql)).toHaveLength(count));

  it('are found', () => expect(TEXTS.length).toBeGreaterThan(35));

  it.each(TEXTS.map((text) => [text.file, text.name, text] as const))(
    'touch one tenant, by a parameter, or are in MAINTENANCE with a reason: %s %s',
    (_file, name, { sql }) => {
      if (name in MAINTENANCE) expect(sql).not.toMatch(/for (no key )?(update|share)/);
      else expect(problemsOf(sql)).toEqual([]);
    },
  );

  it('in MAINTENANCE exist', () => {
    const names = TEXTS.map(({ name }) => name);
    expect(Object.keys(MAINTENANCE).filter((name) => !names.includes(name))).toEqual([]);
  });

  it('have their tenant in every plan: none is planned for any values', () => {
    const files = sourcesNamed(/\.sql\.ts$/).filter(({ text }) => text.includes('isPlannedOnce: true'));
    expect(files.length).toBeGreaterThan(0);
    expect(TEXTS.filter(({ file }) => files.some(({ name }) => name === file))).toEqual([]);
  });
});

describe('migrations of the large tables', () => {
  /** The first for which they can be distributed. */
  const FIRST = 43;

  it.each([
    ['alter table emails add column a uuid, add column b numeric(3, 1) not null default 0;', []],
    [
      'alter table emails add column a uuid; alter table email_events alter column b set storage main;',
      ['email_events'],
    ],
    ['alter table emails add column a uuid, add constraint b check (a is null) not valid;', ['emails']],
  ])('are distinguished: %s', (sql, tables) => expect(changesOfTables(sql)).toEqual(tables));

  it('check whether a table is distributed before they change more than its columns', () => {
    const unasked = MIGRATION_SOURCES.filter(({ number }) => number > FIRST).flatMap(({ name, text }) =>
      changesOfTables(text)
        .filter((table) => !text.includes(`is_distributed('${table}'::regclass)`))
        .map((table) => `${name}: ${table}`),
    );
    expect(unasked).toEqual([]);
  });
});
