import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

const PARTIAL = '.partial-';

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
 * are killed: the work happens under a temporary name beside it, and the rename lets exactly one of them win.
 */
export async function createFolderOnce(target: string, fill: (partial: string) => Promise<void>): Promise<void> {
  const partial = await mkdtemp(target + PARTIAL);
  try {
    await fill(partial);
    await rename(partial, target);
  } catch (error) {
    // A faster process also tidies up, which may break this attempt half-way: no matter, the folder is there.
    if (!(await exists(target))) throw error;
  } finally {
    await removeFolder(partial);
  }
}

/** Removes what a killed process left behind. Call it only when the folder itself exists. */
export async function removePartialFolders(target: string): Promise<void> {
  const parent = path.dirname(target);
  const names = await readdir(parent).catch(() => []);
  for (const name of names.filter((entry) => entry.startsWith(path.basename(target) + PARTIAL))) {
    await removeFolder(path.join(parent, name));
  }
}

/** Where it can. The server that an interrupted initdb has started may still write for a moment: tried again for 5 s in all. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 9, retryDelay: 100 }).catch(() => undefined);
}
