import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Binaries } from './binaries';

/** How initdb complains about a user id without an account (`docker run --user 12345`, Kubernetes' runAsUser). */
export const UNNAMED_USER = /could not look up effective user ID/;

const LOOK_UP = Buffer.from('\0getpwuid\0');
const REPLACEMENT = Buffer.from('\0getpwent\0');

/**
 * An initdb that works without an account for this user id.
 *
 * initdb, and the server that it starts to fill the cluster, only need some account's name: the answer is used for a
 * default that we override. In temporary copies the C library's `getpwuid` (the account of this user) is therefore
 * exchanged for `getpwent` (the next account, whichever), same length and result. Running the cluster later looks nothing
 * up and uses the originals.
 *
 * @param folder an empty place for the copies; the caller removes it.
 * @returns the path of the other initdb.
 */
export async function createInitdbForUnnamedUser(binaries: Binaries, folder: string): Promise<string> {
  await mkdir(path.join(folder, 'bin'), { recursive: true });
  const native = path.resolve(path.dirname(binaries.postgres), '..');
  for (const name of ['lib', 'share']) await symlink(path.join(native, name), path.join(folder, name));
  for (const program of [binaries.initdb, binaries.postgres]) {
    const copy = path.join(folder, 'bin', path.basename(program));
    await writeFile(copy, exchangeLookUp(await readFile(program)), { mode: 0o755 });
  }
  return path.join(folder, 'bin', path.basename(binaries.initdb));
}

function exchangeLookUp(program: Buffer): Buffer {
  const position = program.indexOf(LOOK_UP);
  if (position < 0 || program.includes(LOOK_UP, position + 1)) {
    throw new Error('Postgres cannot make a database for a user id without an account: add one, or set DATABASE_URL.');
  }
  REPLACEMENT.copy(program, position);
  return program;
}
