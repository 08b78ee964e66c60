import { setTimeout as delay } from 'node:timers/promises';
import { unlessAborted } from '../../common/async/promises';
import { SECOND, SystemClock } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import { parseUrl } from '../../common/network';
import type { AppConfig, DatabaseConfig } from '../../config/config';
import { noDatabaseIn } from '../../config/data-dir';
import { ConfigurationError } from '../../config/load-config';
import { createDataSource, COMMAND_CONNECT_TIMEOUT_MS } from '../pool/data-source';
import {
  ConnectError,
  databaseErrorCode,
  DENIED,
  isRefusal,
  isTlsFault,
  isUnavailable,
} from '../statements/database-errors';
import { assertUsable, AtDirectUrl, atDirectUrl } from './external-database';
import { findClusterFolder } from '../embedded/cluster-location';
import {
  attachEmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../embedded/embedded-postgres';
import { limitLogRegularly, ServerMonitor, type Restart } from '../embedded/server-monitor';
import { migrate } from './migrate';

export interface OpenDatabaseOptions {
  /** Receives messages about what takes time or may surprise; never a password. */
  readonly log: (message: string) => void;
  /** Receives what somebody should look at. Default: `log`. */
  readonly warn?: (message: string) => void;
  /** Applies missing migrations. Default: what the configuration says (`MIGRATE_ON_START`). */
  readonly migrate?: boolean;
  /** How long an external database may stay unreachable. Default 60. */
  readonly waitSeconds?: number;
  /**
   * Embedded: whether `stop` also stops a server that another process started. Right for the service, which else would leave
   * behind the server of a killed predecessor; wrong for a command beside it. One that is in use stays up either way.
   */
  readonly stopWhenLast?: boolean;
  /** Embedded: whether a database is made where there is none. Default: it is. */
  readonly create?: boolean;
  /** Embedded: whether a server that dies is started again for as long as this process has it open. */
  readonly restart?: boolean;
  /** Aborted: rejects soon, without leaving anything running that this call has begun. */
  readonly signal?: AbortSignal | undefined;
}

export interface OpenDatabase {
  readonly url: string;
  /** The same database past any pooler: for locks, backups and whatever belongs to a session. */
  readonly directUrl: string;
  readonly embedded: boolean;
  /** Where an embedded server keeps its files. */
  readonly folder?: string | undefined;
  /** The names of the migrations that were applied just now. */
  readonly applied: readonly string[];
  /** Ends what this call began; close your own connections first. An external database is left alone. */
  stop(): Promise<void>;
}

type NeededConfig = Pick<DatabaseConfig, 'url' | 'migrateOnStart'> &
  Partial<Pick<DatabaseConfig, 'directUrl' | 'embeddedSharedBuffersMegabytes'>>;
type EmbeddedConfig = Pick<AppConfig, 'dataDir'> & { readonly database: NeededConfig };
type Opened = Omit<OpenDatabase, 'applied' | 'directUrl'>;

/** invalid_schema_name */
const NO_SCHEMA = '3F000';
const DEFAULT_WAIT_SECONDS = 60;
const RETRY_MS = SECOND;
const EMBEDDED_ATTEMPTS = 3;
const clock = new SystemClock();

/**
 * Gives a process its database: the one of DATABASE_URL, else the embedded one of the data directory, attached to or
 * started; with an up-to-date schema if wanted.
 *
 * @throws ConfigurationError when the database refuses us (password, name) or is not to be made, UnavailableError when it stays unreachable.
 */
export async function openDatabase(
  config: Pick<AppConfig, 'dataDir'> & { readonly database: NeededConfig },
  options: OpenDatabaseOptions,
): Promise<OpenDatabase> {
  const { url, directUrl, migrateOnStart } = config.database;
  const wantsMigrations = options.migrate ?? migrateOnStart;
  if (url !== undefined) {
    const applied = await untilReachable(url, options, () =>
      reachExternal({ url, directUrl }, wantsMigrations, options),
    );
    return { url, directUrl: directUrl ?? url, embedded: false, applied, stop: () => Promise.resolve() };
  }
  if (options.create === false) await assertCreated(config.dataDir);
  const opened = await openEmbedded(config, options);
  try {
    const applied = wantsMigrations ? await applyMigrations(opened.url, options.log) : [];
    options.signal?.throwIfAborted();
    return { ...opened, directUrl: opened.url, applied };
  } catch (error) {
    await opened.stop();
    throw error;
  }
}

async function assertCreated(dataDir: string): Promise<void> {
  if ((await findClusterFolder(dataDir)) === undefined) throw new ConfigurationError([noDatabaseIn(dataDir)]);
}

async function openEmbedded(config: EmbeddedConfig, options: OpenDatabaseOptions): Promise<Opened> {
  for (let attempt = 1; ; attempt += 1) {
    const server = await attachOrStart(config, options);
    try {
      const monitor = await ServerMonitor.open(
        server.url,
        options.restart ? restartOf(server.url, config, options) : undefined,
      );
      const limiting = server.folder === undefined ? undefined : limitLogRegularly(server.folder);
      const stop = async (): Promise<void> => {
        clearInterval(limiting);
        await monitor.end();
        await server.stop();
      };
      return { ...server, embedded: true, stop };
    } catch (error) {
      // Between finding the server and connecting to it, another process may have stopped it.
      if (attempt >= EMBEDDED_ATTEMPTS || !isUnavailable(error)) throw error;
    }
  }
}

/** On the same port, because the pool reconnects there. */
function restartOf(url: string, config: EmbeddedConfig, { log, warn = log }: OpenDatabaseOptions): Restart {
  const port = Number(new URL(url).port);
  return { log, warn, start: () => startEmbeddedPostgres({ ...embeddedOptions(config), log, port, create: false }) };
}

function embeddedOptions({ dataDir, database }: EmbeddedConfig): EmbeddedPostgresOptions {
  const megabytes = database.embeddedSharedBuffersMegabytes;
  return { dataDir, settings: { ...(megabytes !== undefined && { shared_buffers: `${megabytes}MB` }) } };
}

async function attachOrStart(
  config: EmbeddedConfig,
  { log, stopWhenLast = false, signal }: OpenDatabaseOptions,
): Promise<Pick<Opened, 'url' | 'folder' | 'stop'>> {
  const leave = (): Promise<void> => Promise.resolve();
  const running = stopWhenLast ? undefined : await attachEmbeddedPostgres(config.dataDir);
  if (running !== undefined) return { url: running, stop: leave };
  const server = await startEmbeddedPostgres({ ...embeddedOptions(config), log, signal });
  const stop = (): Promise<void> => server.stop();
  const { url, folder } = server;
  return { url, folder, stop: server.startedHere || stopWhenLast ? stop : leave };
}

/**
 * Tries again every second while the database at `url` is away, for `waitSeconds`; every new reason is logged.
 *
 * @throws ConfigurationError when the database refuses us, UnavailableError when it stays unreachable
 */
export async function untilReachable<T>(
  url: string,
  options: Pick<OpenDatabaseOptions, 'log' | 'waitSeconds' | 'signal'>,
  reach: () => Promise<T>,
): Promise<T> {
  const waitMs = (options.waitSeconds ?? DEFAULT_WAIT_SECONDS) * SECOND;
  const begin = clock.monotonicMs();
  for (let said = ''; ;) {
    try {
      // What is under way then ends with the process: a migration is one transaction.
      return await unlessAborted(reach(), options.signal);
    } catch (caught) {
      const { error, database, reason } = faultOf(caught, url);
      if (!isUnavailable(error)) throw error;
      if (clock.monotonicMs() - begin >= waitMs) throw unreachable(database, reason);
      if (reason !== said) options.log(`waiting for the ${database} for up to ${waitMs / SECOND} s: ${reason}`);
      said = reason;
    }
    await delay(Math.min(RETRY_MS, waitMs), undefined, { signal: options.signal });
  }
}

interface Fault {
  readonly error: unknown;
  /** With its place, for the operator. */
  readonly database: string;
  readonly reason: string;
}

/** @throws ConfigurationError for what does not pass by waiting, under the name of the variable that leads there */
function faultOf(caught: unknown, url: string): Fault {
  const direct = caught instanceof AtDirectUrl ? caught : undefined;
  const error = direct ? direct.cause : caught;
  const variable = direct ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
  const reason = describeError(error);
  const name = describeUrl(direct?.url ?? url);
  if (isMissingFile(error)) refuse(`${variable}: a file that it names cannot be read: ${reason}`);
  if (isTlsFault(error)) {
    refuse(`${variable}: no connection to the database ${name}: ${reason} (sslmode, sslrootcert)`);
  }
  if (isRefusal(error)) refuse(`${variable}: the database ${name} refuses: ${reason}`);
  return { error, database: `database ${direct ? 'of DATABASE_DIRECT_URL ' : ''}${name}`, reason };
}

function refuse(problem: string): never {
  throw new ConfigurationError([problem]);
}

async function reachExternal(
  urls: { readonly url: string; readonly directUrl?: string | undefined },
  wantsMigrations: boolean,
  { log, warn = log }: Pick<OpenDatabaseOptions, 'log' | 'warn'>,
): Promise<string[]> {
  const { url, directUrl } = urls;
  await assertUsable(urls, describeUrl, warn);
  if (!wantsMigrations) return [];
  return directUrl === undefined ? applyMigrations(url, log) : atDirectUrl(directUrl, applyMigrations(directUrl, log));
}

function unreachable(database: string, reason: string): UnavailableError {
  return new UnavailableError(`The ${database} cannot be reached: ${reason}`);
}

/** The driver reads `sslrootcert`, `sslcert` and `sslkey`. A socket that is not there has the same code, and will be. */
function isMissingFile(error: unknown): boolean {
  const { code = '', syscall } = (error instanceof ConnectError ? error.cause : error) as NodeJS.ErrnoException;
  return syscall === 'open' && ['ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR'].includes(code);
}

async function applyMigrations(url: string, log: (message: string) => void): Promise<string[]> {
  // Two connections: one holds the lock, the other one works.
  const dataSource = createDataSource(url, {
    poolSize: 2,
    applicationName: 'waybill-migrations',
    connectTimeoutMs: COMMAND_CONNECT_TIMEOUT_MS,
    withoutTimeLimits: true,
  });
  // TypeORM would write about a failed migration to standard output, which is for JSON lines, or for a command's result.
  await dataSource.initialize();
  try {
    const applied = await migrate(dataSource, { log });
    if (applied.length > 0) log(`applied ${applied.length} migrations, up to ${applied.at(-1)}`);
    return applied;
  } catch (error) {
    if (isUnavailable(error) || error instanceof ConfigurationError) throw error;
    const problem = missingRight(error);
    if (problem !== undefined) refuse(problem);
    throw new Error(`The schema could not be brought up to date: ${describeError(error)}`, { cause: error });
  } finally {
    await dataSource.destroy();
  }
}

/** What an administrator has left out who made the database, and gave it to nobody. A schema that the user may not use is as one that is not there. */
function missingRight(error: unknown): string | undefined {
  const code = databaseErrorCode(error);
  if (code !== DENIED && code !== NO_SCHEMA) return undefined;
  const remedy =
    'its user has to own the database (`alter database … owner to …`) and the tables, and its `search_path` has to lead to their schema';
  return `DATABASE_URL: the schema could not be brought up to date: ${describeError(error)}: ${remedy}`;
}

/** Host, port and name; never the user, the password or the parameters. */
function describeUrl(url: string): string {
  const parsed = parseUrl(url);
  if (!parsed) throw new ConfigurationError(['DATABASE_URL is not a valid URL']);
  return `at ${parsed.host || 'localhost'}${parsed.pathname}`;
}

function describeError(error: unknown): string {
  // A refused connection to several addresses is an AggregateError without a message.
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no answer';
}
