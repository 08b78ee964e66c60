'use strict';
const { createHash } = require('node:crypto');
const path = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Files of half a minute and more, the longest first: one that begins last keeps the other workers waiting for its end. */
const SLOWEST = [
  'e2e/console/console.spec.ts',
  'e2e/chaos.spec.ts',
  'e2e/stopping.spec.ts',
  'e2e/start-failures.spec.ts',
  'e2e/roles.spec.ts',
  'e2e/shared-limit.spec.ts',
  'e2e/delivery.spec.ts',
  'e2e/backup.spec.ts',
  'integration/fuzz/hostile-input.spec.ts',
  'e2e/sdk.spec.ts',
  'integration/delivery/plans.spec.ts',
];

/** Other files after each end-to-end file, which mostly waits for processes: many of these at a time leave the cores idle. */
const BETWEEN = 8;

/**
 * Without the times of a former run (a fresh clone) Jest goes by the size of files: end-to-end tests are slow, and begin early.
 * With SHUFFLE_SEED the order is one of chance, the same for the same seed and files: files share the modules of their worker,
 * and none may depend on those before it.
 */
module.exports = class SlowFirstSequencer extends Sequencer {
  sort(tests) {
    const seed = process.env.SHUFFLE_SEED;
    if (seed) return [...tests].sort((one, other) => (place(seed, one) < place(seed, other) ? -1 : 1));
    const sorted = super.sort(tests).sort((one, other) => rank(one) - rank(other));
    const isSlow = (test) => rank(test) <= SLOWEST.length;
    return mix(
      sorted.filter(isSlow),
      sorted.filter((test) => !isSlow(test)),
    );
  }
};

/** Two slow files at first, since two workers go on with others then. */
function mix([first, ...slow], others) {
  if (first === undefined) return others;
  const mixed = [first];
  for (let at = 0; slow.length > 0 || at < others.length; at += BETWEEN) {
    mixed.push(...slow.splice(0, 1), ...others.slice(at, at + BETWEEN));
  }
  return mixed;
}

function rank({ path: file }) {
  const place = SLOWEST.findIndex((name) => file.endsWith(name));
  if (place >= 0) return place;
  return file.includes('/test/e2e/') ? SLOWEST.length : SLOWEST.length + 1;
}

function place(seed, { path: file, context }) {
  const name = path.relative(context.config.rootDir, file);
  return createHash('sha1').update(`${seed} ${name}`).digest('hex');
}
