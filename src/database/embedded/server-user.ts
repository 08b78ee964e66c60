import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ignoreMissing } from './once-folder';
import { OperatorError } from '../../common/errors/app-error';

/** The numbers under which a child process runs. Supplementary groups are dropped. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** Accounts that exist for this purpose, best first; `nobody` is on every system. */
const PREFERRED_ACCOUNTS = ['postgres', 'node', 'nobody'];

/** The first of the preferred accounts in a passwd file (passwd(5)). */
export function pickAccount(passwd: string): ServerUser | undefined {
  const accounts = new Map(passwd.split('\n').map((line) => [line.split(':', 1)[0], line.split(':')]));
  for (const name of PREFERRED_ACCOUNTS) {
    const [, , uid, gid] = accounts.get(name) ?? [];
    if (Number(uid) > 0 && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/**
 * Whom Postgres runs as: it refuses to run as root, so root hands it to an unprivileged account.
 * An existing cluster keeps its owner, whatever accounts have been added since.
 *
 * @param dataFolder the cluster's own folder; need not exist.
 * @returns undefined where the server runs as the user of this process.
 * @throws when the cluster belongs to someone else, or root has no account to hand it to.
 */
export async function findServerUser(dataFolder: string): Promise<ServerUser | undefined> {
  const self = process.getuid?.();
  if (self === undefined) return undefined;
  const owner = await stat(dataFolder).catch(ignoreMissing);
  if (self !== 0) return assertOwnedBy(self, owner?.uid, dataFolder);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const account = pickAccount(await readFile('/etc/passwd', 'utf8'));
  if (account) return account;
  throw new OperatorError(
    'Postgres does not run as root, and /etc/passwd has none of the accounts postgres, node and nobody: ' +
      'start the service as another user, or set DATABASE_URL to a Postgres server.',
  );
}

function assertOwnedBy(self: number, owner: number | undefined, dataFolder: string): undefined {
  if (owner === undefined || owner === self) return undefined;
  throw new OperatorError(
    `The database in ${dataFolder} belongs to user id ${owner}, and this is user id ${self}: ` +
      'start the service as that user, or set WAYBILL_DATA_DIR to a directory of your own.',
  );
}

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
