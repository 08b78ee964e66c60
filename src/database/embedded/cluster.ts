import { randomBytes } from 'node:crypto';
import { chmod, chown, lchown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeFullDisk } from '../../common/disk-space';
import type { Binaries } from './binaries';
import { type ClusterLocation, type ClusterPaths, clusterPaths, viewOf } from './cluster-location';
import { createFolderOnce, exists, removePartialFolders } from './once-folder';
import { type CommandResult, runCommand } from './run-command';
import { limitLog } from './server-monitor';
import type { ServerUser } from './server-user';
import { OperatorError } from '../../common/errors/app-error';

/** The same cluster everywhere: without these, initdb takes encoding and locale from the user who runs it. */
const INITDB_ARGUMENTS = [
  ...['-U', 'postgres', '-A', 'scram-sha-256', '-E', 'UTF8', '--no-instructions'],
  ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
];

interface ClusterOptions {
  readonly initdbArguments: string[];
  readonly log: (message: string) => void;
  /** Aborted: ends initdb. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes the cluster if the folder has none: a new password and the result of initdb, in place at once and complete.
 *
 * @throws with initdb's last words.
 */
export async function ensureCluster(
  location: ClusterLocation,
  binaries: Binaries,
  options: ClusterOptions,
): Promise<ClusterPaths> {
  const paths = clusterPaths(location.folder);
  if (await exists(path.join(paths.data, 'PG_VERSION'))) {
    await removePartialFolders(paths.cluster);
    await limitLog(paths.log);
    await adoptCopy(paths, location.user);
    return paths;
  }
  if (await exists(paths.cluster)) {
    throw new OperatorError(`${paths.cluster} exists but holds no database: remove it, or restore what belongs there.`);
  }
  options.log(`creating a database in ${paths.cluster}`);
  await createFolderOnce(paths.cluster, (partial) => initialise(partial, location, binaries, options));
  return paths;
}

/** The password of the cluster's roles. */
export async function readPassword(paths: ClusterPaths): Promise<string> {
  try {
    return (await readFile(paths.password, 'utf8')).trim();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new OperatorError(
      `The password of the embedded Postgres in ${paths.password} cannot be read (${message}): ` +
        (code === 'ENOENT'
          ? 'restore it from a copy of the directory.'
          : 'run this as the user that runs the service.'),
      { cause },
    );
  }
}

async function initialise(
  partial: string,
  location: ClusterLocation,
  binaries: Binaries,
  { initdbArguments, signal }: ClusterOptions,
): Promise<void> {
  const { folder, user } = location;
  const data = path.join(partial, 'data');
  const password = path.join(partial, 'password');
  const { log } = clusterPaths(folder);
  await chmod(partial, user ? 0o711 : 0o700);
  await mkdir(data, { mode: 0o700 });
  await writeFile(password, randomBytes(24).toString('base64url') + '\n', { mode: 0o600, flag: 'wx' });
  if (user) for (const file of [data, password]) await chown(file, user.uid, user.gid);

  const { workingFolder, nameOf } = viewOf(location, data);
  const args = ['-D', nameOf(data), '--pwfile', nameOf(password), ...INITDB_ARGUMENTS, ...initdbArguments];
  const run = (initdb: string): Promise<CommandResult> =>
    runCommand(initdb, args, { user, workingFolder, logFile: log, signal, endsGroup: true });
  let result = await run(binaries.initdb);
  if (result.exitCode !== 0 && UNNAMED_USER.test(result.output)) {
    const tools = path.join(partial, 'tools');
    result = await run(await createInitdbForUnnamedUser(binaries, tools));
    await rm(tools, { recursive: true });
  }
  if (result.exitCode !== 0) {
    throw new OperatorError(
      `The embedded Postgres could not be created, see ${log}: ${await whyItFailed(result, folder)}`,
    );
  }
  // From here on it is the service that needs the password.
  if (user) await chown(password, 0, 0);
}

/** A copy that root has made of a stopped cluster belongs to root. The server's user gets its data, and nothing else. */
async function adoptCopy({ cluster, data }: ClusterPaths, user: ServerUser | undefined): Promise<void> {
  if (!user || (await stat(data)).uid === user.uid) return;
  await chmod(cluster, 0o711);
  for (const entry of ['', ...(await readdir(data, { recursive: true }))]) {
    await lchown(path.join(data, entry), user.uid, user.gid);
  }
}

const NO_ROOM = /No space left on device|Check free disk space|Disk quota exceeded/;
/** Of a new cluster, and of what initdb needs besides while it works. */
const CLUSTER_MEGABYTES = 50;

/** initdb removes what it has written before it ends, so that the disk has room again: its words count. */
export async function whyItFailed(result: CommandResult, folder: string): Promise<string> {
  if (NO_ROOM.test(result.output) || (await describeFullDisk(folder)) !== undefined) {
    return `the disk of ${folder} has too little room: a new database takes ${CLUSTER_MEGABYTES} MB, and mail needs more`;
  }
  return describeFailure('initdb', { ...result, output: faultsIn(result.output) });
}

/** Without the thirty lines about what went well before. */
function faultsIn(output: string): string {
  const first = output.search(/.*(?:\b(?:ERROR|FATAL|PANIC): |\berror: )/);
  return first < 0 ? output : output.slice(first);
}

/** For people: what failed, how, and its last words. */
export function describeFailure(program: string, { exitCode, output }: CommandResult): string {
  const how = exitCode === null ? 'was ended by a signal' : `failed with exit code ${exitCode}`;
  return `${program} ${how}: ${output || 'it said nothing'}`;
}

/** How initdb complains about a user id without an account (`docker run --user 12345`, Kubernetes' runAsUser). */
const UNNAMED_USER = /could not look up effective user ID/;

const LOOK_UP = Buffer.from('\0getpwuid\0');
const REPLACEMENT = Buffer.from('\0getpwent\0');

/**
 * An initdb that works without an account for this user id.
 *
 * initdb, and the server that it starts to fill the cluster, only need some account's name: the answer is used for a
 * default that we override. In temporary copies the C library's `getpwuid` (the account of this user) is therefore
 * exchanged for `getpwent` (any next account), same length and result. Running the cluster later looks nothing
 * up and uses the originals.
 *
 * @param folder an empty place for the copies; the caller removes it.
 * @returns the path of the other initdb.
 */
export async function createInitdbForUnnamedUser(binaries: Binaries, folder: string): Promise<string> {
  await mkdir(path.join(folder, 'bin'), { recursive: true });
  const native = path.resolve(path.dirname(binaries.postgres), '..');
  for (const name of ['lib', 'share']) await symlink(path.join(native, name), path.join(folder, name));
  for (const program of [binaries.initdb, binaries.postgres]) {
    const copy = path.join(folder, 'bin', path.basename(program));
    await writeFile(copy, exchangeLookUp(await readFile(program)), { mode: 0o755 });
  }
  return path.join(folder, 'bin', path.basename(binaries.initdb));
}

function exchangeLookUp(program: Buffer): Buffer {
  const position = program.indexOf(LOOK_UP);
  if (position < 0 || program.includes(LOOK_UP, position + 1)) {
    throw new OperatorError(
      'Postgres cannot make a database for a user id without an account: add one, or set DATABASE_URL.',
    );
  }
  REPLACEMENT.copy(program, position);
  return program;
}
