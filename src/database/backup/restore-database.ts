import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { AppError } from '../../common/errors/app-error';
import { isOlderRelease, RELEASE } from '../../common/release';
import { databaseErrorCode } from '../statements/database-errors';
import { MIGRATION_LOCK } from '../start/migrate';
import { MIGRATIONS } from '../schema/migrations';
import { findMisplaced, readApplied } from '../schema/schema-state';
import { type BackupPart, readBackupFile } from './backup-file';
import type { BackupHeader, VerifiedBackup } from './backup-format';
import { columnList, dropEverything, identifier, listTables, makeSchema } from './catalogue';
import { connectFor, COPY_SETTINGS } from './dump-database';

export interface RestoreOptions {
  /** Replaces what is there. */
  readonly force: boolean;
  /** Connections of this process that may stay open. */
  readonly ownKeepers: number;
  /** Runs when all that can be refused has been, before the first change. */
  readonly beforeChanges: () => void;
  /** Runs once everything is there. */
  readonly afterCommit: () => void;
  /** Receives the progress. */
  readonly note: (message: string) => void;
  /** Aborted before the commit: the database stays as it was. */
  readonly signal: AbortSignal;
}

/**
 * Replaces the database at `url` by a backup, in one transaction: the schema is made by the migrations that the backup
 * names, then filled. After an error the database is as it was before. The caller applies newer migrations.
 * @param backup the file, as `verifyBackup` has found it
 * @throws AppError conflict or invalid_request, with what to do
 */
export async function restoreDatabase(
  url: string,
  file: string,
  backup: VerifiedBackup,
  options: RestoreOptions,
): Promise<void> {
  assertKnown(backup.header);
  const client = await connectFor('restore', url);
  try {
    await unlessInterrupted(client, options.signal, () => replace(client, file, backup, options));
    await client.query('commit');
    options.afterCommit();
    options.note('committed; counting the rows for the planner');
    // Until it has, plans are made as for empty tables. Vacuum would do it within minutes, so nothing is lost without it.
    await client.query('analyze').catch((error: Error) => options.note(`analyze: ${error.message}`));
  } finally {
    await client.end();
  }
}

const LOCK_NOT_AVAILABLE = '55P03';
const IN_USE =
  'Another session uses the tables: `waybill connections list` shows it, and `waybill connections end <pid>` ends it';

/** Ends the connection, and with it the statement and the transaction. @throws the signal's reason */
async function unlessInterrupted(client: Client, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const interrupt = (): void => void client.end();
  signal.throwIfAborted();
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    if (databaseErrorCode(error) === LOCK_NOT_AVAILABLE) throw refused(IN_USE);
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

/** Everything up to the commit. */
async function replace(client: Client, file: string, backup: VerifiedBackup, options: RestoreOptions): Promise<void> {
  // Services that start meanwhile wait for their migrations.
  await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
  await client.query(`begin; ${COPY_SETTINGS}; set local lock_timeout = '10s'`);
  await assertUnused(client, options.ownKeepers);
  await assertReplaceable(client, options.force);
  options.beforeChanges();
  await dropEverything(client);
  await makeSchema(client, backup.header, options.note);
  await fill(client, file, backup, options.note);
}

/** The migrations of this build make the schema: it has to have them all. */
function assertKnown({ migrations, release }: BackupHeader): void {
  const known = MIGRATIONS.map((migration): string => new migration().name);
  const unknown = migrations.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const remedy = isOlderRelease(RELEASE, release)
    ? `restore it with release ${release} or later`
    : 'restore it with its own build';
  throw refused(
    `The backup was made by release ${release}, whose schema this one (${RELEASE}) does not know: ${remedy}`,
  );
}

/** An idle connection is how a process of the service holds an embedded server. */
const SESSIONS = `
  select count(*) filter (where application_name = 'waybill-keeper')::int as keepers,
    count(*) filter (where application_name <> 'waybill-keeper')::int as others
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name like 'waybill%'`;

async function assertUnused(client: Client, ownKeepers: number): Promise<void> {
  const { rows } = await client.query<{ keepers: number; others: number }>(SESSIONS);
  const { keepers = 0, others = 0 } = rows[0] ?? {};
  const foreign = others + Math.max(0, keepers - ownKeepers);
  if (foreign === 0) return;
  throw refused(`The service is running: ${foreign} sessions of it are open. Stop all its processes, then restore`);
}

async function assertReplaceable(client: Client, force: boolean): Promise<void> {
  const misplaced = await findMisplaced(client);
  if (misplaced !== undefined) throw refused(`Nothing can be restored: ${misplaced}`);
  const tables = await listTables(client);
  if (tables.length === 0) return;
  if ((await readApplied(client)).length === 0) {
    throw refused('The database holds tables of something else: restore into a database of its own');
  }
  if (!tables.some(({ name }) => name === 'organizations')) return;
  const { rows } = await client.query<{ found: boolean }>('select exists (select from organizations) as found');
  if (rows[0]?.found && !force) throw refused('The database holds data. To replace all of it, give --force');
}

function refused(message: string): AppError {
  return new AppError('invalid_request', message);
}

async function fill(client: Client, file: string, backup: VerifiedBackup, note: (message: string) => void) {
  const parts = readBackupFile(file)[Symbol.asyncIterator]();
  await parts.next();
  const { tables, sequences } = backup.header;
  const known = (await listTables(client)).map(({ name }) => name);
  for (const [index, table] of tables.entries()) {
    if (!known.includes(table.name)) {
      await passOver(contentOf(parts));
      note(`${table.name} is no table of the service: left out`);
      continue;
    }
    const { rows } = backup.tables.get(table.name) ?? { rows: 0 };
    const copy = client.query(copyFrom(`copy ${identifier(table.name)} (${columnList(table)}) from stdin`));
    await pipeline(Readable.from(contentOf(parts)), copy);
    if (copy.rowCount !== rows) throw new Error(`${table.name} has ${copy.rowCount} rows instead of ${rows}`);
    if (rows > 0) note(`${index + 1}/${tables.length} ${table.name}: ${rows} rows`);
  }
  await parts.return?.(undefined);
  for (const name of known) {
    await client.query(`alter table ${identifier(name)} enable trigger user`);
  }
  for (const { name, lastValue, isCalled } of sequences) {
    await client.query('select setval($1::regclass, $2::bigint, $3)', [identifier(name), lastValue, isCalled]);
  }
}

async function passOver(content: AsyncGenerator<Buffer>): Promise<void> {
  while (!(await content.next()).done) continue;
}

/** The bytes of one table, to the part that ends it. */
async function* contentOf(parts: AsyncIterator<BackupPart>): AsyncGenerator<Buffer> {
  for (let next = await parts.next(); !next.done && next.value.type === 'data'; next = await parts.next()) {
    yield next.value.bytes;
  }
}
