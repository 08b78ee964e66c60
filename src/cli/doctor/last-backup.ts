import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DAY } from '../../common/clock';
import type { Finding } from './checks';

const FILE = 'last-backup.json';
const OLD_DAYS = 7;

interface LastBackup {
  readonly file: string;
  readonly createdAt: string;
}

/** For the doctor. A directory that cannot be written to is no reason for a backup to fail. */
export async function recordLastBackup(dataDir: string, file: string, createdAt: Date): Promise<void> {
  const last: LastBackup = { file: path.resolve(file), createdAt: createdAt.toISOString() };
  await writeFile(path.join(dataDir, FILE), `${JSON.stringify(last)}\n`, { mode: 0o600 }).catch(() => undefined);
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
