import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DAY } from '../../common/clock';
import type { Finding } from './checks';

const FILE = 'last-backup.json';
const OLD_DAYS = 7;

interface LastBackup {
  readonly file: string;
  readonly createdAt: string;
}

/**
 * For the doctor. Makes the data directory where there is none, as on a host that runs only commands. A directory that cannot
 * be written to does not fail the backup.
 */
export async function recordLastBackup(dataDir: string, file: string, createdAt: Date): Promise<void> {
  const last: LastBackup = { file: path.resolve(file), createdAt: createdAt.toISOString() };
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await writeFile(path.join(dataDir, FILE), `${JSON.stringify(last)}\n`, { mode: 0o600 });
  } catch {
    // `waybill doctor` then knows nothing of this backup.
  }
}

/** What `waybill backup` has last written from this data directory. There are other ways to back up, so nothing is a problem. */
export async function checkLastBackup(dataDir: string, now: Date): Promise<Finding> {
  const last = await readLastBackup(dataDir);
  if (!last) return { status: 'ok', message: '`waybill backup` has not been used here' };
  const days = Math.floor((now.getTime() - Date.parse(last.createdAt)) / DAY);
  const message = `the last one is of ${last.createdAt}: ${last.file}`;
  return { status: days >= OLD_DAYS ? 'warning' : 'ok', message, details: { ...last } };
}

async function readLastBackup(dataDir: string): Promise<LastBackup | undefined> {
  try {
    const last = JSON.parse(await readFile(path.join(dataDir, FILE), 'utf8')) as Partial<LastBackup>;
    return typeof last.file === 'string' && !Number.isNaN(Date.parse(last.createdAt ?? ''))
      ? (last as LastBackup)
      : undefined;
  } catch {
    return undefined;
  }
}
