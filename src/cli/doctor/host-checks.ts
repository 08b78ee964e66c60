import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { type Finding, ok } from './check';

/** As package.json says. */
const OLDEST_NODE = [20, 19];

const MEBIBYTE = 1024 * 1024;
/** Postgres stops when it cannot write; a day of mail fits into the warning. */
const FREE_PROBLEM_BYTES = 256 * MEBIBYTE;
const FREE_WARNING_BYTES = 2048 * MEBIBYTE;

/** @param version as in `process.versions.node` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  const recent = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  if (recent) return ok(`Node ${version}`, { version });
  return { status: 'problem', message: `Node ${version} is older than ${OLDEST_NODE.join('.')}`, details: { version } };
}

/** Looks at the file system of a folder that exists, or will exist. */
export async function checkDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(nearestExisting(folder));
  return judgeFreeSpace(bavail * bsize, folder);
}

export function judgeFreeSpace(freeBytes: number, folder: string): Finding {
  const message = `${Math.floor(freeBytes / MEBIBYTE)} MiB free in ${folder}`;
  const details = { folder, freeBytes };
  if (freeBytes < FREE_PROBLEM_BYTES) return { status: 'problem', message, details };
  return { status: freeBytes < FREE_WARNING_BYTES ? 'warning' : 'ok', message, details };
}

function nearestExisting(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : nearestExisting(parent);
}
