import { DkimKeyMaker, type DkimKeyPair } from '../../src/modules/domains/dkim/dkim-keyring';

/** More than any test compares with each other. */
const MADE = 16;

const pairs: Promise<DkimKeyPair>[] = [];
let taken = 0;
const generate = DkimKeyMaker.prototype.generate;

/**
 * A setup file for processes that run tests: a 2048-bit key takes 150 ms of CPU time, and tests add hundreds of domains. The
 * first keys of a process are made as in production; the later ones are these again, in turn.
 */
DkimKeyMaker.prototype.generate = function reuse(): Promise<DkimKeyPair> {
  const index = taken % MADE;
  taken += 1;
  return (pairs[index] ??= generate.call(this));
};
