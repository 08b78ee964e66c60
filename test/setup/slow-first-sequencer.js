'use strict';
const { default: Sequencer } = require('@jest/test-sequencer');

/** Files of half a minute and more: one that begins last keeps the other workers waiting for its end. */
const SLOWEST = ['e2e/console/console.spec.ts', 'e2e/chaos.spec.ts'];

/** Without the times of a former run (a fresh clone) Jest goes by the size of files: end-to-end tests are slow, and begin first. */
module.exports = class SlowFirstSequencer extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => rank(one) - rank(other));
  }
};

function rank({ path }) {
  if (SLOWEST.some((name) => path.endsWith(name))) return 0;
  return path.includes('/test/e2e/') ? 1 : 2;
}
