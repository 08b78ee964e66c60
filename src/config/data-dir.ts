const CAUSES: Record<string, string> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is a file',
  ENOSPC: 'the disk is full',
};

/** Why the data directory is of no use, and what to do; undefined for an error that says nothing of the file system. */
export function unusableDataDir(dataDir: string, error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !(code in CAUSES)) return undefined;
  const remedy = 'make it writable for this user, or set WAYBILL_DATA_DIR to a directory that is';
  return `WAYBILL_DATA_DIR: ${dataDir} cannot be used, since ${CAUSES[code]} (${code}): ${remedy}`;
}
