import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { BackupFileError } from './backup-file';

const CAUSES: Record<string, string> = {
  ENOENT: 'does not exist: make it first',
  ENOTDIR: 'is no directory',
  EACCES: 'cannot be written by this user',
  EPERM: 'cannot be written by this user',
  EROFS: 'is on a read-only file system',
};

/** @throws BackupFileError when a backup cannot be made there, with what to do */
export async function assertFolderOf(file: string): Promise<void> {
  const folder = path.dirname(path.resolve(file));
  try {
    // The last character refuses what is no directory.
    await access(folder + path.sep, constants.W_OK | constants.X_OK);
  } catch (error) {
    const cause = CAUSES[(error as NodeJS.ErrnoException).code ?? ''];
    if (cause === undefined) throw error;
    throw new BackupFileError(`The folder ${folder} ${cause}`);
  }
}
