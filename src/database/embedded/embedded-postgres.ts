import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { unusableDataDir } from '../../config/data-dir';
import { differingSettings, type ServerSettings, serviceUrl } from './administration';
import { findBinaries } from './binaries';
import { ensureCluster, readPassword } from './cluster';
import { assertClusterThere, clusterPaths, findClusterFolder, locateCluster } from './cluster-location';
import { exists, makeFolder } from './once-folder';
import type { RunningServer, Server } from './server';
import { attachOrStart, findRunningServer, stopServer } from './server';
import { OperatorError } from '../../common/errors/app-error';

export interface EmbeddedPostgresOptions {
  /** Made if missing. One machine (or container) at a time: two that share it do not see each other's server. */
  dataDir: string;
  /** Whether a cluster is made where there is none. Default: it is. */
  create?: boolean;
  /** Server settings beside or instead of our own; they apply when this call starts the server. */
  settings?: ServerSettings;
  /** Further arguments of initdb; they apply when this call creates the cluster. */
  initdbArguments?: string[];
  /** Default: any free one, the same as before after a crash. */
  port?: number;
  /** Aborted: ends initdb, or the start of the server, and rejects. */
  signal?: AbortSignal | undefined;
  /** Receives messages about what takes time or may surprise. */
  log?: (message: string) => void;
}

export interface EmbeddedPostgres {
  /** Connection string of the database `waybill`, as its owner (no superuser). */
  url: string;
  /** False: the server ran already. */
  startedHere: boolean;
  /** Where the cluster and its log lie: the data directory, or what its link `pg18` leads to. */
  folder: string;
  /**
   * Stops the server, also one that another process started, unless another process is still connected. Close your own connections first. Once it is down, further calls do nothing.
   *
   * @param evenIfInUse stops it regardless of connections.
   */
  stop(options?: { evenIfInUse?: boolean }): Promise<void>;
}

/**
 * Gives the data directory a running Postgres 18: attaches to the one that runs, else starts it, else creates it.
 *
 * The server is a detached daemon that listens on the loopback interface only. It outlives a killed Node process, and the
 * next call attaches to it. Any number of processes may call this at once.
 *
 * @throws Error that says what to do: no binaries for this platform, no place for the files, or a server that does not
 * start (after some 10 seconds if that may pass, a minute while it recovers from a crash).
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  if (options.create === false) await assertClusterThere(path.resolve(options.dataDir));
  const location = await locateCluster(await prepareDataDir(options.dataDir), log);
  const binaries = await findBinaries(location.user, location.folder);
  const { signal, initdbArguments = [] } = options;
  signal?.throwIfAborted();
  const paths = await ensureCluster(location, binaries, { initdbArguments, log, signal });
  signal?.throwIfAborted();
  const server = { location, paths, binaries, password: await readPassword(paths) };
  const running = await attachOrStart(server, { settings: options.settings ?? {}, port: options.port, signal });
  log(`Postgres ${running.startedHere ? 'started' : 'runs already'} on port ${running.address.port}`);
  if (!running.startedHere) await logOtherSettings(running, options.settings ?? {}, log);
  return createHandle(server, running, log);
}

/**
 * The connection string of a data directory's server, for a command beside the running service. Starts nothing.
 *
 * @returns undefined when there is no cluster, or its server does not run.
 * @throws when this user may not read the cluster's password.
 */
export async function attachEmbeddedPostgres(dataDir: string): Promise<string | undefined> {
  const folder = await findClusterFolder(path.resolve(dataDir));
  if (folder === undefined) return undefined;
  const paths = clusterPaths(folder);
  if (!(await exists(paths.cluster))) return undefined;
  const { address } = await findRunningServer(paths, await readPassword(paths));
  return address && serviceUrl(address);
}

/** Logs the wanted settings that a running server lacks: it outlived a killed process, or other processes share it. */
async function logOtherSettings({ address }: RunningServer, wanted: ServerSettings, log: (message: string) => void) {
  for (const [name, value] of await differingSettings(address, wanted)) {
    log(`Postgres runs with ${name} = ${value}, not ${wanted[name]}, until it is started again`);
  }
}

async function prepareDataDir(dataDir: string): Promise<string> {
  // pg_ctl puts paths between double quotes and hands them to a shell.
  if (/["`$\n]/.test(path.resolve(dataDir))) {
    throw new OperatorError(
      `The data directory ${dataDir} has a character in its path that Postgres cannot be started with.`,
    );
  }
  // Root only passes through: the server's user has no business in the directory itself, which holds other secrets too.
  await makeFolder(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700).catch((cause: Error) => {
    throw new OperatorError(unusableDataDir(dataDir, cause) ?? cause.message, { cause });
  });
  return realpath(dataDir);
}

function createHandle(server: Server, running: RunningServer, log: (message: string) => void): EmbeddedPostgres {
  let stopping: Promise<void> | undefined;
  const stop = async (evenIfInUse: boolean): Promise<void> => {
    const stopped = await stopServer(server, evenIfInUse);
    if (!stopped) stopping = undefined;
    log(stopped ? 'Postgres stopped' : 'Postgres stays up: others are still connected');
  };
  return {
    url: serviceUrl(running.address),
    startedHere: running.startedHere,
    folder: server.location.folder,
    stop: ({ evenIfInUse = false } = {}) => (stopping ??= stop(evenIfInUse)),
  };
}
