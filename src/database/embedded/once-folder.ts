import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { HOUR } from '../../common/clock';

const PARTIAL = '.partial-';
/** Filling a folder takes seconds: one that is older was left by a process that was killed, and no other one works in it. */
const ABANDONED_MS = HOUR;

/** For reads of a file that may be missing: turns that error, and only that one, into undefined. */
export function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}

/** True when something exists at that path (a dangling symbolic link is nothing). */
export async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(ignoreMissing)) !== undefined;
}

/** Makes a folder with exactly that mode, whatever the umask; one that exists keeps its own. */
export async function makeFolder(folder: string, mode: number): Promise<void> {
  const created = await mkdir(folder, { recursive: true, mode });
  if (created !== undefined) await chmod(folder, mode);
}

/**
 * Fills a folder that is there either completely or not at all, however many processes do it at once and wherever they
 * are killed: the work happens under a temporary name beside it, and the rename lets exactly one of them win. What killed ones have
 * left is removed as soon as the folder is there, and after an hour in any case: a start that is killed again and again fills no disk.
 */
export async function createFolderOnce(target: string, fill: (partial: string) => Promise<void>): Promise<void> {
  const partial = await mkdtemp(target + PARTIAL);
  try {
    // By the clock of the file system, which may be another machine's.
    await removePartialFolders(target, (await stat(partial)).mtimeMs - ABANDONED_MS);
    await fill(partial);
    await rename(partial, target);
    await removePartialFolders(target);
  } catch (error) {
    // A faster process also tidies up, which may break this attempt half-way: no matter, the folder is there.
    if (!(await exists(target))) throw error;
  } finally {
    await removeFolder(partial);
  }
}

/** Removes what killed processes left behind before a time. Without one, call it only when the folder itself exists. */
export async function removePartialFolders(target: string, beforeMs = Infinity): Promise<void> {
  const parent = path.dirname(target);
  const names = await readdir(parent).catch(() => []);
  for (const name of names.filter((entry) => entry.startsWith(path.basename(target) + PARTIAL))) {
    const folder = path.join(parent, name);
    const made = await stat(folder).catch(ignoreMissing);
    if (made && made.mtimeMs < beforeMs) await removeFolder(folder);
  }
}

/** Where it can. The server that an interrupted initdb has started may still write for a moment: tried again for 5 s in all. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 9, retryDelay: 100 }).catch(() => undefined);
}
