import { SOURCES } from './source-files';

/**
 * What Postgres 14, the oldest that the service runs on (README, `waybill doctor`), does not know, by the version that brought it.
 * Tests run on the newest one, which knows all of it.
 */
const LATER: readonly (readonly [version: number, forbidden: RegExp])[] = [
  [15, /\bmerge into\b|\bnulls not distinct\b|\bsecurity_invoker\b|\bregexp_(?:count|instr|like|substr)\s*\(/i],
  [15, /\bon delete set (?:null|default) \(|\bstrategy\s*=?\s*file_copy\b|\bunique nulls\b/i],
  [
    16,
    /\bany_value\s*\(|\bdate_(?:add|subtract)\s*\(|\barray_(?:sample|shuffle)\s*\(|\bsystem_user\b|\brandom_normal\s*\(/i,
  ],
  [
    16,
    /\bjson_(?:array|arrayagg|object|objectagg)\s*\((?![^)]*\bjson_build)|\bis (?:not )?json\b|\bpg_input_\w+\s*\(|\bpg_stat_io\b/i,
  ],
  [16, /[\s(,=]\d+_\d+\b|[\s(,=]0[xob][\da-f]+\b|\berfc?\s*\(/i],
  [17, /\bjson_(?:table|exists|query|value|scalar|serialize)\s*\(|\bto_(?:bin|oct|hex)\s*\(-|\btransaction_timeout\b/i],
  [17, /\brandom\s*\([^)]|\buuid_extract_\w+\s*\(|\bpg_stat_checkpointer\b|\bon_error\b|\bmerge_action\s*\(/i],
  [
    18,
    /\buuidv[47]\s*\(|\breturning (?:old|new)\.|\breturning with\b|\bwithout overlaps\b|\bcasefold\s*\(|\bvirtual\b/i,
  ],
  [18, /\barray_(?:reverse|sort)\s*\(|\bcrc32c?\s*\(|\bnot enforced\b|\bgamma\s*\(|\bjson_strip_nulls\s*\([^)]*,/i],
];

interface SqlText {
  readonly file: string;
  readonly sql: string;
}

/** Template literals and strings that look like SQL, without its comments and quoted words. */
function textsOf(file: string, source: string): SqlText[] {
  const literals =
    source.match(/`[^`]*`|'(?:select|insert|update|delete|with|create|alter|set|begin) [^'\n]*'/gi) ?? [];
  return literals
    .filter((text) => /\b(?:select|insert into|update|delete from|create|alter|execute)\b/i.test(text))
    .map((text) => ({
      file,
      sql: text
        .replace(/--.*$/gm, '')
        .replace(/\$\{[^}]*\}/g, 'x')
        .replace(/''|(?<!^)'[^']*'(?!$)/g, "''"),
    }));
}

function problemsOf(sql: string): string[] {
  const found = LATER.flatMap(([version, forbidden]) => {
    const [hit] = forbidden.exec(sql) ?? [];
    return hit === undefined ? [] : [`${hit.trim()}: Postgres ${version}`];
  });
  return [...found, ...namelessIn(sql).map((text) => `a subquery without a name: Postgres 16: ${text}`)];
}

/** What follows each subquery of a `from` has to be its name. */
function namelessIn(sql: string): string[] {
  return [...sql.matchAll(/\b(?:from|join|lateral)\s*\(\s*(?:select|values|with)\b/gi)].flatMap(({ index }) => {
    const rest = sql.slice(endOfBracket(sql, index)).trimStart();
    const isNamed =
      /^(?:as\s+)?(?!(?:on|where|order|group|limit|join|left|cross|inner|union|for|offset)\b)["a-z]/i.test(rest);
    return isNamed ? [] : [sql.slice(index, index + 60)];
  });
}

function endOfBracket(text: string, start: number): number {
  let depth = 0;
  for (let at = text.indexOf('(', start); at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

const TEXTS = SOURCES.flatMap(({ name, text }) => textsOf(name, text));

describe('SQL is that of Postgres 14', () => {
  it.each([
    ['select any_value(id) from emails', 1],
    ['insert into a (id) values (uuidv7())', 1],
    ['update a set b = 1 returning old.b', 1],
    ['select 1 from (select 2 as n) where n = 1_000', 2],
    ['select 1 from (select 2 as n) x cross join lateral (select 3) as y', 0],
    ['select random(1, 10)', 1],
    [`select random(), extract(epoch from now()), json_build_object('a', 1)`, 0],
    [`select json_object('a': 1)`, 1],
    ['merge into a using b on true', 1],
    ['alter table a add column b int generated always as (c + 1) virtual', 1],
  ])('%s', (sql, count) => expect(problemsOf(sql)).toHaveLength(count));

  it('everywhere', () => {
    expect(TEXTS.length).toBeGreaterThan(300);
    const problems = TEXTS.flatMap(({ file, sql }) => problemsOf(sql).map((problem) => `${file}: ${problem}`));
    expect(problems).toEqual([]);
  });
});

/** Files that hold a connection past any pooler (DATABASE_DIRECT_URL) for what belongs to its session. */
const OF_DIRECT_CONNECTIONS = [
  'database/backup/restore-database.ts',
  'database/cluster/distribute.ts',
  // `LIFT_TIME_LIMITS`, for the others of this list and for backups.
  'database/pool/data-source.ts',
  'database/start/migrate.ts',
  'delivery/worker/session/work-signal.ts',
];

/** A pooler gives the next transaction another connection: docs/scaling.md. What tests run through one, `TransactionPooler` sees too. */
const OF_A_SESSION =
  /\bpg_(?:try_)?advisory_(?:lock|unlock)\w*\(|^['`](?:un)?listen |\bcreate temp|\bset_config\([^)]*false\s*\)|^['`]set (?!local |transaction )|;\s*set (?!local |transaction )\w+(?:\.\w+)? (?:=|to)|\bdeclare \w+ cursor|\bdiscard all\b/i;

describe('what belongs to a session', () => {
  it('is used on direct connections only', () => {
    const services = TEXTS.concat(
      SOURCES.flatMap(({ name, text }) =>
        (text.match(/[`']listen [^`']*[`']/g) ?? []).map((sql) => ({ file: name, sql })),
      ),
    ).filter(({ file }) => !file.startsWith('database/migrations/'));
    const files = services.filter(({ sql }) => OF_A_SESSION.test(sql)).map(({ file }) => file);
    expect([...new Set(files)].sort()).toEqual(OF_DIRECT_CONNECTIONS);
  });
});
