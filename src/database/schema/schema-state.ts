import { SECOND } from '../../common/clock';
import { isOlderRelease, RELEASE } from '../../common/release';
import { DriverClient } from '../statements/driver-client';
import { MIGRATIONS, OLDEST_RELEASE } from './migrations';

/** The table in which TypeORM records applied migrations. */
export const MIGRATIONS_TABLE = 'schema_migrations';

/**
 * A database's schema compared with this build. `newer`: it has migrations unknown to this build. `elsewhere`: the tables are in another
 * schema than the first one of the `search_path`.
 */
export interface SchemaState {
  readonly state: 'current' | 'empty' | 'behind' | 'newer' | 'elsewhere';
  /** Names of the migrations that are still to be applied, in their order. */
  readonly pending: readonly string[];
  /** True when this build runs on it, also on a newer one. */
  readonly isUsable: boolean;
  /** One line for operators: the state, and what to do. */
  readonly sentence: string;
}

/** Which release made a schema, and the oldest one that runs on it. */
interface SchemaOrigin {
  readonly release: string;
  readonly oldest: string;
}

/** Of an overloaded server too: commands read it, and are needed most then. */
const CONNECT_TIMEOUT_MS = 15 * SECOND;
const KNOWN = MIGRATIONS.map((migration) => new migration().name);
const ORIGIN = /^Made by release (\S+), for releases from (\S+) on$/;

const RECORD_ORIGIN = `comment on table ${MIGRATIONS_TABLE} is 'Made by release ${RELEASE}, for releases from ${OLDEST_RELEASE} on'`;

/**
 * Stores which release made this schema, for older builds that open it later: after migrations, also when only a part of them was applied.
 * What a process that was killed has left out is made up for. That of a later release stays.
 *
 * @param before the names of what was applied before
 */
export async function recordOrigin(client: Reader, before: readonly string[]): Promise<void> {
  const applied = await readApplied(client);
  if (applied.length === 0 || applied.some((name) => !KNOWN.includes(name))) return;
  const origin = await readOrigin(client);
  const isKept = origin !== undefined && !isOlderRelease(origin.oldest, OLDEST_RELEASE);
  if (applied.length === before.length && isKept) return;
  await client.query(RECORD_ORIGIN);
}

/** Reads the state of the schema at `url`. Changes nothing. */
export async function readSchemaState(url: string): Promise<SchemaState> {
  const client = new DriverClient({
    connectionString: url,
    application_name: 'waybill-schema',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const found = evaluateSchema(await readApplied(client), await readOrigin(client));
    const misplaced = await findMisplaced(client);
    return misplaced === undefined ? found : { ...found, state: 'elsewhere', sentence: misplaced };
  } finally {
    await client.leave();
  }
}

export interface Reader {
  query<Row extends object>(text: string): Promise<{ rows: Row[] }>;
}

/** The names of the applied migrations, in their order; none in an empty database. */
export async function readApplied(client: Reader): Promise<string[]> {
  const { rows: tables } = await client.query<{ exists: boolean }>(
    `select to_regclass('${MIGRATIONS_TABLE}') is not null as exists`,
  );
  if (!tables[0]?.exists) return [];
  const { rows } = await client.query<{ name: string }>(
    `select name from ${MIGRATIONS_TABLE} order by "timestamp", id`,
  );
  return rows.map(({ name }) => name);
}

// Of the tables that record migrations: one in the first schema of the `search_path`, whosever it is, and ours in any other.
const PLACES = `
  select n.nspname as schema, current_schema() as first
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relname = '${MIGRATIONS_TABLE}' and c.relkind = 'r'
    and (n.nspname = current_schema() or obj_description(c.oid, 'pg_class') like 'Made by release %')
  order by n.nspname = current_schema() desc nulls last, n.nspname`;

/**
 * Where the `search_path` leads to another schema than to that with our tables, what to do. An empty installation there would look like
 * the loss of all data.
 */
export async function findMisplaced(client: Reader): Promise<string | undefined> {
  const { rows } = await client.query<{ schema: string; first: string | null }>(PLACES);
  const [place] = rows;
  if (place === undefined || place.schema === place.first) return undefined;
  const instead = place.first === null ? 'no schema' : `the schema ${place.first}`;
  const found = rows.map(({ schema }) => schema).join(' or ');
  return (
    `the tables are in the schema ${found}, and the \`search_path\` leads to ${instead} first: ` +
    `run \`alter role … set search_path = ${rows.length > 1 ? '…' : found}\` for the user of the database, ` +
    'or give a second installation a database of its own'
  );
}

/** Undefined when the schema does not record it. */
export async function readOrigin(client: Reader): Promise<SchemaOrigin | undefined> {
  const text = `select obj_description(to_regclass('${MIGRATIONS_TABLE}'), 'pg_class') as origin`;
  const { rows } = await client.query<{ origin: string | null }>(text);
  const [, release, oldest] = ORIGIN.exec(rows[0]?.origin ?? '') ?? [];
  return release === undefined || oldest === undefined ? undefined : { release, oldest };
}

/** @param origin undefined when the schema does not record it */
export function evaluateSchema(
  applied: readonly string[],
  origin: SchemaOrigin | undefined,
  { known = KNOWN, release = RELEASE }: { readonly known?: readonly string[]; readonly release?: string } = {},
): SchemaState {
  const pending = known.filter((name) => !applied.includes(name));
  if (applied.length === 0) {
    return { state: 'empty', pending, isUsable: false, sentence: 'the database is empty: run `waybill migrate`' };
  }
  if (pending.length > 0) {
    const made = describeOlder(origin, release);
    const sentence = `the schema ${made}: run \`waybill migrate\`, which applies ${pending.join(', ')}`;
    return { state: 'behind', pending, isUsable: false, sentence };
  }
  if (applied.every((name) => known.includes(name))) {
    return { state: 'current', pending, isUsable: true, sentence: 'the schema is up to date' };
  }
  return { state: 'newer', pending, ...evaluateNewer(origin, release) };
}

function describeOlder(origin: SchemaOrigin | undefined, release: string): string {
  if (origin === undefined) return 'is older than this build';
  if (origin.release === release) return `has a part of this release, ${release}`;
  return `was made by release ${origin.release} and is too old for this one, ${release}`;
}

function evaluateNewer(origin: SchemaOrigin | undefined, release: string): Pick<SchemaState, 'isUsable' | 'sentence'> {
  const isUsable = origin !== undefined && !isOlderRelease(release, origin.oldest);
  const made = `the schema was made by ${origin ? `release ${origin.release}` : 'a later release'}, and this is ${release}`;
  if (isUsable) return { isUsable, sentence: `${made}, which still runs on it` };
  return { isUsable, sentence: `${made}: start ${origin ? `release ${origin.oldest} or later` : 'that release'}` };
}
