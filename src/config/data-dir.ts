import { chmodSync, statSync } from 'node:fs';

const OWNER_ONLY = 0o600;

/** Makes a file readable by its owner only: a copy or a restored backup may have left it open. A file of another user stays as it is. */
export function keepPrivate(file: string): void {
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, OWNER_ONLY);
  } catch {
    // Not our file; if it cannot be read, the read reports that.
  }
}

/** For commands of an operator who has left out a variable: they must not make a key, or a database that is in order. */
export function noDatabaseIn(dataDir: string): string {
  return (
    `There is no database in ${dataDir}, and DATABASE_URL is not set: set it, or WAYBILL_DATA_DIR, as for the service. ` +
    'The first start of the service makes an embedded one'
  );
}

const CAUSES: Record<string, string> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file',
  ENOENT: 'a part of the path is a link to nothing',
  EEXIST: 'it is a file',
  ENOSPC: 'the disk is full',
};

/** Why the data directory cannot be used, and what to do; undefined for an error that is not about the file system. */
export function unusableDataDir(dataDir: string, error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !(code in CAUSES)) return undefined;
  const remedy = 'make it writable for this user, or set WAYBILL_DATA_DIR to a directory that is';
  return `WAYBILL_DATA_DIR: ${dataDir} cannot be used, since ${CAUSES[code]} (${code}): ${remedy}`;
}
