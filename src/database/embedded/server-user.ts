import { readFile, stat } from 'node:fs/promises';
import { ignoreMissing } from './once-folder';

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
  throw new Error(
    'Postgres does not run as root, and /etc/passwd has none of the accounts postgres, node and nobody: ' +
      'start the service as another user, or set DATABASE_URL to a Postgres server.',
  );
}

function assertOwnedBy(self: number, owner: number | undefined, dataFolder: string): undefined {
  if (owner === undefined || owner === self) return undefined;
  throw new Error(
    `The database in ${dataFolder} belongs to user id ${owner}, and this is user id ${self}: ` +
      'start the service as that user, or set WAYBILL_DATA_DIR to a directory of your own.',
  );
}
