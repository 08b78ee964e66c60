import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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
  EDQUOT: "this user's quota is used up",
};

const NO_ROOM = ['ENOSPC', 'EDQUOT'];

/** Why the data directory, or a file in it, cannot be used, and what to do; undefined for an error that is not about the file system. */
export function unusableDataDir(dataDir: string, error: unknown): string | undefined {
  const { code, path = dataDir } = error as NodeJS.ErrnoException;
  if (code === undefined || !(code in CAUSES)) return undefined;
  const isOneOfItsFiles = dirname(path) === dataDir;
  if (isOneOfItsFiles && isDenied(code)) return `WAYBILL_DATA_DIR: ${deniedFile(path, code)}`;
  const remedy = NO_ROOM.includes(code)
    ? 'make room, or set WAYBILL_DATA_DIR to a directory where there is some'
    : 'make it writable for this user, or set WAYBILL_DATA_DIR to a directory that is';
  return `WAYBILL_DATA_DIR: ${dataDir} cannot be used, since ${CAUSES[code]} (${code}): ${remedy}`;
}

/** What a start that fails at a file says of it; undefined for any other error. */
export function unusableFile(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '', path } = error as NodeJS.ErrnoException;
  if (!(code in CAUSES)) return undefined;
  // Of a write Node names no path.
  if (path === undefined) return NO_ROOM.includes(code) ? `${CAUSES[code]} (${error.message})` : undefined;
  return isDenied(code) ? deniedFile(path, code) : `${path} cannot be used, since ${CAUSES[code]} (${code})`;
}

function isDenied(code: string): boolean {
  return code === 'EACCES' || code === 'EPERM';
}

/** Most often left by a start as another user, such as root. */
function deniedFile(file: string, code: string): string {
  return `${file} cannot be used, since this user may not read and write it (${code}): start the service as the user who owns it, or give it to this one`;
}
