import { setTimeout as delay } from 'node:timers/promises';
import { SystemClock } from '../../common/clock';
import { describeFullDisk } from '../../common/disk-space';
import {
  countConnections,
  findFreePort,
  prepareServer,
  type ServerAddress,
  serverOptions,
  type ServerSettings,
} from './administration';
import type { Binaries } from './binaries';
import { describeFailure } from './cluster';
import { type ClusterLocation, type ClusterPaths, viewOf } from './cluster-location';
import type { PostmasterFile } from './postmaster-file';
import { isAlive, readPostmasterFile, retireStalePostmasterFile } from './postmaster-file';
import type { CommandResult } from './run-command';
import { runCommand } from './run-command';
import { OperatorError } from '../../common/errors/app-error';

/** A cluster that exists, and what is needed to run it. */
export interface Server {
  location: ClusterLocation;
  paths: ClusterPaths;
  binaries: Binaries;
  password: string;
}

export interface StartOptions {
  settings: ServerSettings;
  port: number | undefined;
  /** Aborted: gives up, and interrupts a start that is under way. */
  signal?: AbortSignal | undefined;
}

export interface RunningServer {
  address: ServerAddress;
  startedHere: boolean;
}

interface FailedAttempt {
  reason: string;
  /** How long after the first attempt there is hope. */
  limitMs: number;
}

const clock = new SystemClock();
const RETRY_MS = 200;
/** Enough for another process that starts it, and for the last processes of a killed server. */
const START_LIMIT_MS = 10_000;
/** What passes by itself: others start it, the last processes of a killed one, a port that was taken just now. */
const PASSING = /lock file|another server|shared memory block|in use|by a signal|should serve port/;
/** Anything else is most likely here to stay. */
const UNKNOWN_LIMIT_MS = 1_000;
/** Recovery after a crash, or the last checkpoint of a stop: the server is at work. */
const BUSY_LIMIT_MS = 60_000;
/** A server that is there and not heard of in time: its machine is busy, such as with the connections that waited for its recovery. */
const BUSY = /but: (timeout expired|the database system is )/;
const BUSY_LIMIT_SECONDS = String(BUSY_LIMIT_MS / 1_000);
/** A pool that has just been closed: the server needs a moment to notice. */
const LAST_CONNECTIONS_MS = 2_000;

/** The address of this data folder's server if one runs and accepts connections; the reason if one should but does not. */
export async function findRunningServer(
  paths: ClusterPaths,
  password: string,
): Promise<{ address?: ServerAddress; reason?: string }> {
  const file = await readPostmasterFile(paths.data);
  if (!file || !isAlive(file.pid)) return {};
  const address = { port: file.port, password };
  try {
    await prepareServer(address, paths.data, file.pid);
    return { address };
  } catch (error) {
    return { reason: `process ${file.pid} should serve port ${file.port}, but: ${describe(error)}` };
  }
}

/** Attaches to the running server, or starts it; retries while other processes start or stop it. */
export async function attachOrStart(server: Server, options: StartOptions): Promise<RunningServer> {
  const begin = clock.monotonicMs();
  for (;;) {
    const attempt = await attachOrStartOnce(server, options);
    if ('address' in attempt) return attempt;
    options.signal?.throwIfAborted();
    if (clock.monotonicMs() - begin > attempt.limitMs) {
      throw new OperatorError(`The embedded Postgres does not start, see ${server.paths.log}: ${attempt.reason}`);
    }
    await delay(RETRY_MS);
  }
}

async function attachOrStartOnce(server: Server, options: StartOptions): Promise<RunningServer | FailedAttempt> {
  const { paths, password } = server;
  await retireStalePostmasterFile(paths.data);
  const running = await findRunningServer(paths, password);
  if (running.address) return { address: running.address, startedHere: false };
  const file = await readPostmasterFile(paths.data);
  if (file && isBusy(file)) return { reason: `process ${file.pid} is ${file.status}`, limitMs: BUSY_LIMIT_MS };

  const failure = await start(server, options, file?.port);
  const started = await findRunningServer(paths, password);
  if (started.address) return { address: started.address, startedHere: failure === undefined };
  const reason = [failure, started.reason].filter(Boolean).join('; ') || 'it ended at once';
  return { reason, limitMs: patienceWith(reason) };
}

/** How long after the first attempt a further one may succeed, by why the last one failed. */
export function patienceWith(reason: string): number {
  if (BUSY.test(reason)) return BUSY_LIMIT_MS;
  return PASSING.test(reason) ? START_LIMIT_MS : UNKNOWN_LIMIT_MS;
}

/** Another process starts or stops it: a further attempt would only fail. */
function isBusy(file: PostmasterFile): boolean {
  return /^(starting|stopping)$/.test(file.status) && isAlive(file.pid);
}

/**
 * @param lastPort of a killed server: a process that outlived it finds the new one there, if the port is still free.
 * @returns undefined on success, else what pg_ctl and the server said, and that the disk is full.
 */
async function start(
  server: Server,
  { settings, port, signal }: StartOptions,
  lastPort: number | undefined,
): Promise<string | undefined> {
  const options = serverOptions(port ?? (await findFreePort(lastPort)), settings);
  // When the log's path cannot be opened the server continues to write to the file that pg_ctl is given.
  const log = server.location.isClosed ? [] : ['-l', server.paths.log];
  const result = await control(server, ['start', ...log, '-o', options], signal);
  if (result.exitCode === 0) return undefined;
  return [describeFailure('pg_ctl start', result), await describeFullDisk(server.paths.data)]
    .filter(Boolean)
    .join('; ');
}

/**
 * Stops the server; at once, if it does not in order, such as in its recovery after a full disk. Does nothing when it does not run.
 * @param evenIfInUse otherwise a server that someone is still connected to stays up.
 * @returns whether it is down now.
 * @throws when it stops in neither way.
 */
export async function stopServer(server: Server, evenIfInUse: boolean): Promise<boolean> {
  if (!evenIfInUse && (await isInUse(server))) return false;
  const inOrder = await control(server, ['stop', '-m', 'fast']);
  const result = inOrder.exitCode === 0 ? inOrder : await control(server, ['stop', '-m', 'immediate']);
  const file = await readPostmasterFile(server.paths.data);
  if (result.exitCode !== 0 && file && isAlive(file.pid)) {
    throw new OperatorError(
      `The embedded Postgres does not stop, see ${server.paths.log}: ${describeFailure('pg_ctl stop', result)}`,
    );
  }
  return true;
}

async function isInUse({ paths, password }: Server): Promise<boolean> {
  // Not the address of the start: the server may have been restarted since.
  const { address } = await findRunningServer(paths, password);
  if (!address) return false;
  const begin = clock.monotonicMs();
  for (;;) {
    const connections = await countConnections(address).catch(() => 0);
    if (connections === 0) return false;
    if (clock.monotonicMs() - begin > LAST_CONNECTIONS_MS) return true;
    await delay(RETRY_MS / 4);
  }
}

/** Detached, so that Ctrl-C in the terminal ends neither the server nor an orderly stop of it. */
function control(server: Server, args: string[], signal?: AbortSignal): Promise<CommandResult> {
  const { paths, location, binaries } = server;
  const { workingFolder, nameOf } = viewOf(location, paths.data);
  return runCommand(binaries.pgCtl, ['-s', '-D', nameOf(paths.data), '-w', '-t', BUSY_LIMIT_SECONDS, ...args], {
    user: location.user,
    workingFolder,
    logFile: paths.log,
    detached: true,
    signal,
  });
}

function describe(error: unknown): string {
  // A refused connection to several addresses is an AggregateError without a message.
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no answer';
}
