'use strict';
// A mutant that a property notices, it notices within few cases; the suite itself tries more. The same cases each time: a
// score depends on the tests alone.
const exported = require('fast-check');

const MOST_RUNS = 100;
const SEED = 20_261_122;
const { default: fc } = exported;
const few = (settings) => ({ ...settings, seed: SEED, numRuns: Math.min(settings?.numRuns ?? MOST_RUNS, MOST_RUNS) });
const { assert } = fc;
exported.assert = (property, settings) => assert(property, few(settings));
exported.default = { ...fc, assert: exported.assert };
