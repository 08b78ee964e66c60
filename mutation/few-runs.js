'use strict';
// A mutant that a property notices, it notices within few cases; the suite itself tries more.
require('fast-check').configureGlobal({ numRuns: 25 });
