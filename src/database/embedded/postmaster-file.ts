import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ignoreMissing } from './once-folder';

/** What a running server writes into its data folder (src/include/utils/pidfile.h of Postgres). */
export interface PostmasterFile {
  pid: number;
  port: number;
  status: string;
}

const FILE = 'postmaster.pid';
/** One more than Linux ever gives out (PID_MAX_LIMIT). */
const IMPOSSIBLE_PID = 4_194_305;

/** The lines of interest, or undefined when the file is not (yet) complete. */
export function parsePostmasterFile(text: string): PostmasterFile | undefined {
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0) || !(port > 0)) return undefined;
  return { pid, port, status: (lines[7] ?? '').trim() };
}

/** Reads the file of a server that runs, or that was killed; undefined after an orderly stop. */
export async function readPostmasterFile(dataFolder: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(path.join(dataFolder, FILE), 'utf8').catch(ignoreMissing);
  return parsePostmasterFile(text ?? '');
}

/** True while a process of that number exists, no matter whose and whether it is still of use. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * After a kill -9 the file stays, and Postgres refuses to start for as long as any process of the same user has the
 * number in it: one that was never reaped (no init in a container), or another program that got the number after a restart.
 * Linux shows what a process is, so there the number is replaced by one that no process can have. The rest of the file stays:
 * with it Postgres still makes sure that no process of the old server is left.
 *
 * Safe beside a server that starts: that one makes a new file, and this one writes into the file it has read.
 */
export async function retireStalePostmasterFile(dataFolder: string): Promise<void> {
  const file = await open(path.join(dataFolder, FILE), 'r+').catch(() => undefined);
  if (!file) return;
  try {
    const text = await file.readFile('utf8');
    const pid = parseInt(text, 10);
    if (!(pid > 0) || !(await isSomethingElse(pid))) return;
    await file.write(text.replace(/^\d+/, String(IMPOSSIBLE_PID)), 0);
  } finally {
    await file.close();
  }
}

/** True when /proc shows a dead process, or a live one that is no Postgres. */
async function isSomethingElse(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  // proc(5): "1234 (name) S …"; the name may itself hold brackets.
  const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(text ?? '') ?? [];
  return name !== undefined && (name !== 'postgres' || state === 'Z');
}
