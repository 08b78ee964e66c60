'use strict';
/** TypeScript in plain Node, compiled as for the tests. Packages are loaded once, our own files as often as wanted. */
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { process: compile } = require('../test/setup/jest-transform');

const compiled = new Map();
/** Texts that stand in for those of files. */
const replaced = new Map();

Module._extensions['.ts'] = (module, file) => {
  const source = replaced.get(file) ?? fs.readFileSync(file, 'utf8');
  if (compiled.get(file)?.source !== source) compiled.set(file, { source, ...compile(source, file) });
  module._compile(compiled.get(file).code, file);
};

/** A file that is loaded by its compiled name (open-telemetry.js) has its source beside it. */
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function resolve(request, parent, ...rest) {
  const isCompiledName = /^\..*\.js$/.test(request) && parent?.filename?.endsWith('.ts');
  return resolveFilename.call(this, isCompiledName ? request.replace(/\.js$/, '') : request, parent, ...rest);
};

/** The next load of anything under `root` is a fresh one. */
function forgetOwnModules(root) {
  const own = [path.join(root, 'src', path.sep), path.join(root, 'test', path.sep)];
  for (const file of Object.keys(require.cache)) {
    if (own.some((folder) => file.startsWith(folder)) && file.endsWith('.ts')) delete require.cache[file];
  }
}

/**
 * A mutant that a property notices, it notices within few cases; the suite itself tries more. One that asks for some thousand needs
 * them to see what is rare. The same cases each time: a score depends on the tests alone.
 */
const MOST_CASES = 2_000;

function tryFewCases(numRuns, seed) {
  const file = require.resolve('fast-check');
  const original = require(file);
  const casesOf = (wanted = numRuns) => (wanted <= MOST_CASES ? wanted : numRuns);
  const few = (settings) => ({ ...settings, seed, numRuns: casesOf(settings?.numRuns) });
  const assert = (property, settings) => original.assert(property, few(settings));
  require.cache[file].exports = {
    ...original,
    ...{ __esModule: true, assert, default: { ...original.default, assert } },
  };
}

module.exports = { forgetOwnModules, replaced, tryFewCases };
