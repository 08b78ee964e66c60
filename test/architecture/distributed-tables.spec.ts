import { sourcesNamed } from './source-files';

/**
 * The tables that can be distributed over nodes by organization (docs/scaling.md). A statement about them is sent to the
 * node of one tenant, so it has the tenant as a parameter, compared with the column by which they are distributed, for every
 * such table that it names; or it is a plain write from arrays: it inserts rows, each with its organization, or updates rows that
 * are joined on it.
 */
const LARGE = ['emails', 'email_contents', 'email_attachments', 'email_recipients', 'email_events'];

/** Statements for all tenants, with the reason. They have no row locks and no limits on what they change. */
const MAINTENANCE: Record<string, string> = {
  countDefaultRows: 'how many rows lie in the default partitions; as a rule none',
  nthKey: 'where a slice of a default partition ends; read only',
  deleteFrom: 'deletes a slice of a default partition, by the keys alone',
};

const NAMES = LARGE.join('|');
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
  const isUpdate = /\bupdate\s+email/i.test(sql);
  // A cast of a text is a function that is not immutable, and so are those that take JSON apart.
  if (isUpdate && /\b[a-z]\w*\.\w+::|jsonb?_to_record/i.test(sql)) {
    problems.push('an update with a function over a column');
  }
  return problems;
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
    ['update emails e set metadata = g.head::jsonb from unnest($2) g (head) where e.organization_id = $1', 1],
    ['insert into emails (id) values ($1)', 1],
  ])('are told apart: %s', (sql, count) => expect(problemsOf(sql)).toHaveLength(count));

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
});
