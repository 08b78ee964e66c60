'use strict';
// For processes that end within seconds, as a preload: V8 of Node 20 optimizes functions that have run for a few milliseconds, most of
// which are hardly used again. It was half of the CPU time of the linter. Later releases count calls instead, and know no such flag.
const { setFlagsFromString } = require('node:v8');

if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=1000000');
