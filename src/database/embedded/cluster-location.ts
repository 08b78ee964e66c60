import { createHash } from 'node:crypto';
import { chmod, lstat, mkdtemp, readdir, readlink, realpath, rmdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { exists, ignoreMissing, makeFolder } from './once-folder';
import { findClosedComponent, findServerUser, type ServerUser } from './server-user';
import { OperatorError } from '../../common/errors/app-error';

/**
 * Where root keeps the cluster of a data directory that the server's user cannot enter, on systems without /proc; earlier
 * releases did so everywhere.
 */
const STATE_FOLDER = '/var/lib/waybill';

/** Named after the major version of Postgres: another one cannot read the files. */
const CLUSTER = 'pg18';

/** A cluster's files, and whom its programs run as (undefined: the user of this process). */
export interface ClusterLocation {
  folder: string;
  user: ServerUser | undefined;
  /** The path to it is closed to that user, who is given the cluster's data as working folder instead. */
  isClosed: boolean;
}

/**
 * The name of a process's working folder, whatever lies above it (proc(5)). Root may enter a folder and only then become
 * another user, to whom its path would be closed: a home folder with mode 700 closes all below it.
 */
const WORKING_FOLDER = '/proc/self/cwd';

/** What the cluster's programs are started with: their working folder, and a name for each file below the cluster. */
export function viewOf(
  { isClosed, folder }: Pick<ClusterLocation, 'isClosed' | 'folder'>,
  data: string,
): { readonly workingFolder: string; readonly nameOf: (file: string) => string } {
  if (!isClosed) return { workingFolder: folder, nameOf: (file) => file };
  // Not `join`, which takes `..` for the way back out of the name, where it is the way up from what it leads to.
  const nameOf = (file: string): string => [WORKING_FOLDER, path.relative(data, file)].filter(Boolean).join('/');
  return { workingFolder: data, nameOf };
}

/** Whether the folder that a server calls its data is this one. @param pid the server's process */
export async function isDataOf(pid: number, claimed: string, data: string): Promise<boolean> {
  return (await realpath(claimed === WORKING_FOLDER ? `/proc/${pid}/cwd` : claimed)) === data;
}

export interface ClusterPaths {
  /** Everything that makes up the cluster; appears at once, complete. */
  cluster: string;
  /** The folder that Postgres itself owns (PGDATA). */
  data: string;
  /** The password of both database roles, for the owner of the service only. */
  password: string;
  /** What initdb, pg_ctl and the server write. */
  log: string;
}

/** Where the parts of a cluster are in its folder. */
export function clusterPaths(folder: string): ClusterPaths {
  const cluster = path.join(folder, CLUSTER);
  return {
    cluster,
    data: path.join(cluster, 'data'),
    password: path.join(cluster, 'password'),
    log: path.join(folder, 'postgres.log'),
  };
}

/**
 * Finds the folder that holds, or will hold, the cluster of a data directory: the directory itself, or what its link
 * `pg18` points to. Changes nothing.
 *
 * @returns undefined when no place has been chosen yet.
 */
export async function findClusterFolder(dataDir: string): Promise<string | undefined> {
  const entry = path.join(dataDir, CLUSTER);
  const found = await lstat(entry).catch(ignoreMissing);
  if (!found) return undefined;
  if (!found.isSymbolicLink()) return realpath(dataDir);
  const folder = path.dirname(path.resolve(dataDir, await readlink(entry)));
  if (await exists(folder)) return realpath(folder);
  throw new OperatorError(
    `The database of ${dataDir} lies in ${folder}, which does not exist. ` +
      `Restore it, or remove the link ${entry} to begin with an empty database.`,
  );
}

/** A new cluster would be empty, and in the way when the volume of the old one is mounted again. @throws OperatorError */
export async function assertClusterThere(dataDir: string): Promise<void> {
  const folder = await findClusterFolder(dataDir);
  if (folder !== undefined && (await exists(clusterPaths(folder).data))) return;
  throw new OperatorError(`The database in ${dataDir} is gone: bring that directory back (is its volume mounted?).`);
}

/**
 * Finds the cluster's folder, or chooses it on the first start.
 *
 * @param dataDir exists, absolute and without symbolic links.
 */
export async function locateCluster(dataDir: string, log: (message: string) => void): Promise<ClusterLocation> {
  const known = await findClusterFolder(dataDir);
  if (known === undefined) await refuseOtherVersion(dataDir);
  const folder = known ?? dataDir;
  const user = await findServerUser(clusterPaths(folder).data);
  const closed = user && (await findClosedComponent(folder, user, 'enter'));
  if (folder !== dataDir) log(`the database of ${dataDir} is kept in ${folder}: a copy of the former lacks it`);
  if (!user || !closed) return { folder, user, isClosed: false };
  if (await exists(WORKING_FOLDER)) return { folder, user, isClosed: true };
  if (known === undefined) {
    log(`${closed} is closed to user id ${user.uid}, as which Postgres has to run`);
    return { folder: await chooseFolderOutside(dataDir, log), user, isClosed: false };
  }
  throw new OperatorError(
    `Postgres has to run as user id ${user.uid} for the database in ${folder}, but ${closed} is closed to it. ` +
      `Allow passing through (chmod o+x ${closed}), or set DATABASE_URL to another Postgres server.`,
  );
}

/** An empty database beside the data of another version would look like the loss of it. @throws OperatorError */
async function refuseOtherVersion(dataDir: string): Promise<void> {
  const other = (await readdir(dataDir)).find((name) => /^pg\d+$/.test(name) && name !== CLUSTER);
  if (other === undefined) return;
  const [has, runs] = [other, CLUSTER].map((name) => `PostgreSQL ${name.slice('pg'.length)}`);
  throw new OperatorError(
    `The database in ${path.join(dataDir, other)} is of ${has}, and this release runs ${runs}. Make a backup with the release ` +
      'that ran last (waybill backup), restore it with this one into another data directory (waybill restore), and use that.',
  );
}

/**
 * Makes a folder under `/var/lib/waybill` and links to it from the data directory. The link is the choice: of two
 * processes only one can make it. A new name every time, because a data directory that was emptied means a new database.
 */
async function chooseFolderOutside(dataDir: string, log: (message: string) => void): Promise<string> {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 8);
  await makeFolder(STATE_FOLDER, 0o711);
  const folder = await mkdtemp(path.join(STATE_FOLDER, `${name}-`));
  await chmod(folder, 0o711);
  try {
    await symlink(clusterPaths(folder).cluster, path.join(dataDir, CLUSTER));
  } catch (error) {
    await rmdir(folder);
    const chosenByAnother = await findClusterFolder(dataDir);
    if (chosenByAnother === undefined) throw error;
    return chosenByAnother;
  }
  log(`the database of ${dataDir} is kept in ${folder}`);
  return folder;
}
