import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DkimKeyGenerator, type DkimKeyPair } from '../../src/modules/domains/dkim/dkim-keyring';

/** More than any test compares with each other. */
const MADE = 16;

const pairs: Promise<DkimKeyPair>[] = [];
let taken = 0;
const prototype = DkimKeyGenerator.prototype as unknown as { makePair(): Promise<DkimKeyPair> };
const { makePair } = prototype;

/**
 * A setup file for processes that run tests: a 2048-bit key takes 150 ms of CPU time, and tests add hundreds of domains. The
 * first keys of a run are made as in production; the later ones are these again, in turn, in all of its processes.
 */
prototype.makePair = function reuse(): Promise<DkimKeyPair> {
  const index = taken % MADE;
  taken += 1;
  return (pairs[index] ??= keptOrMade(`${index}.json`, () => makePair.call(this)));
};

async function keptOrMade(name: string, make: () => Promise<DkimKeyPair>): Promise<DkimKeyPair> {
  const folder = process.env.WAYBILL_TEST_KEYS;
  if (folder === undefined) return make();
  const file = join(folder, name);
  const kept = await readFile(file, 'utf8').catch(() => undefined);
  if (kept !== undefined) {
    const { privateKey, publicKey } = JSON.parse(kept) as { privateKey: string; publicKey: string };
    return { privateKey: Buffer.from(privateKey, 'base64'), publicKey };
  }
  const pair = await make();
  // Whole or not at all: another process may read it meanwhile.
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, JSON.stringify({ ...pair, privateKey: pair.privateKey.toString('base64') }));
  await rename(temporary, file);
  return pair;
}
