import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { ServerUser } from './server-user';

type Mode = Pick<Stats, 'uid' | 'gid' | 'mode'>;

const READ = 4;
const ENTER = 1;

/** What has to be allowed on the last component: passing through it, or also reading (a folder's list, a file's bytes). */
export type Access = 'enter' | 'read' | 'read-and-enter';

const BITS: Record<Access, number> = { enter: ENTER, read: READ, 'read-and-enter': READ | ENTER };

/** The classic permission check: the first class that fits decides, even if a later one would allow more. */
export function allows(file: Mode, user: ServerUser, bits: number): boolean {
  if (file.uid === user.uid) return ((file.mode >> 6) & bits) === bits;
  if (file.gid === user.gid) return ((file.mode >> 3) & bits) === bits;
  return (file.mode & bits) === bits;
}

/**
 * Walks an absolute path without symbolic links from the root down, as the kernel does for that user.
 * Access control lists are not looked at: they can only make the answer stricter than needed.
 *
 * @returns the first component that stops the user, or undefined when the path is reachable.
 */
export async function findClosedComponent(
  target: string,
  user: ServerUser,
  access: Access,
  readMode: (file: string) => Promise<Mode> = stat,
): Promise<string | undefined> {
  const { root } = path.parse(target);
  const names = target.slice(root.length).split(path.sep).filter(Boolean);
  let current = root;
  for (const [index, name] of ['', ...names].entries()) {
    current = path.join(current, name);
    const bits = index === names.length ? BITS[access] : ENTER;
    if (!allows(await readMode(current), user, bits)) return current;
  }
  return undefined;
}
