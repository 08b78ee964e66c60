import { lstat, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';

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
