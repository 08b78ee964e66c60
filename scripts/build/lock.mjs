import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { modifiedMs } from './staleness.mjs';

const POLL_MS = 100;
/** Creating the folder and writing the owner into it are microseconds apart. */
const OWNERLESS_LIMIT_MS = 5_000;
/** No build takes this long: a dead owner's process id was reused by another process. */
const AGE_LIMIT_MS = 600_000;

/** The lock of a project's build. @param root the project's folder */
export function lockOf(root) {
  return path.join(root, 'node_modules', '.cache', 'waybill-build.lock');
}

/** Runs `work` while no other process does; waits for one that does (reported once), and takes over from one that died. */
export async function withLock(folder, work, onWait) {
  for (let waited = false; !tryLock(folder);) {
    if (isAbandoned(folder)) {
      remove(folder);
      continue;
    }
    if (!waited) onWait();
    waited = true;
    await delay(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** True while another process holds the lock. */
export function isLocked(folder) {
  return modifiedMs(folder) > 0 && !isAbandoned(folder);
}

function tryLock(folder) {
  mkdirSync(path.dirname(folder), { recursive: true });
  try {
    mkdirSync(folder);
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  writeFileSync(path.join(folder, 'owner'), String(process.pid));
  return true;
}

function isAbandoned(folder) {
  const madeMs = modifiedMs(folder);
  if (madeMs === 0) return false;
  const ageMs = Date.now() - madeMs;
  const owner = ownerOf(folder);
  return owner === undefined ? ageMs > OWNERLESS_LIMIT_MS : !isAlive(owner) || ageMs > AGE_LIMIT_MS;
}

function ownerOf(folder) {
  try {
    return Number(readFileSync(path.join(folder, 'owner'), 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Renames first, so that only one of several waiting processes removes it; a late one puts back the next owner's lock. */
function remove(folder) {
  const aside = `${folder}.${process.pid}`;
  try {
    renameSync(folder, aside);
    if (!isAbandoned(aside)) renameSync(aside, folder);
  } catch (error) {
    // Already removed, or already taken again.
    if (!['ENOENT', 'EEXIST', 'ENOTEMPTY'].includes(error.code)) throw error;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}
