'use strict';
/**
 * Jest gives each test file a module registry and a V8 context of its own: loading Nest, TypeORM and our own 850 files took
 * most of a file's CPU time. No test replaces a module, so the files of one worker process share them: all but the test file
 * itself is loaded once, by Node's own `require` (ES modules too, as in production), TypeScript through Jest's transform.
 */
const asyncHooks = require('node:async_hooks');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const { default: Runtime } = require('jest-runtime');

forgetSetup();
/** That of the test file that is running. */
let current;
/** Of every TypeScript file that this process has loaded, so that stacks name the lines of the source. */
const sourceMaps = new Map();
const requires = new Map();

module.exports = class SharedRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    const [testPath, { watch, watchAll }] = args.slice(6);
    this.transformCache.sourceMaps = sourceMaps;
    this.executor.compile = (source, filename) => compile(source, this.executor.injectedModuleParameters, filename);
    if (watch || watchAll) forgetSources(args[0].rootDir);
    current = this;
    globalThis.jest = this.jestGlobals.jestObjectFor(testPath);
  }

  /** The test file and Jest's own modules; a setup file is shared like all else. */
  requireModule(file, ...rest) {
    const [, options] = rest;
    return file === this._testPath || options?.isInternalModule ? super.requireModule(file, ...rest) : require(file);
  }

  /** Of Jest's own code only the runner of the tests begins anew with each file; it keeps the state that belongs to a file. */
  requireInternalModule(from, to) {
    if (to === 'node:async_hooks') return { ...asyncHooks, AsyncLocalStorage: SequentialStore };
    const isOfRunner = to === undefined || to.startsWith('.') || path.isAbsolute(to);
    return isOfRunner ? super.requireInternalModule(from, to) : requireFrom(from)(to);
  }

  requireModuleOrMock(from, moduleName) {
    return requireFrom(from)(moduleName);
  }

  requireActual(from, moduleName) {
    return requireFrom(from)(moduleName);
  }
};

/**
 * The runner notes which test runs in an `AsyncLocalStorage`, for tests that run side by side. Ours run one after the other, and
 * until Node 24 each promise of the process pays for a storage that is in use: a tenth of the CPU time of all tests.
 */
class SequentialStore {
  getStore() {
    return this.store;
  }

  run(store, work, ...args) {
    const before = this.store;
    const end = () => (this.store = before);
    this.store = store;
    try {
      const result = work(...args);
      if (typeof result?.then === 'function') return result.finally(end);
      end();
      return result;
    } catch (error) {
      end();
      throw error;
    }
  }
}

function compile(source, parameters, filename) {
  const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return vm.compileFunction(source, parameters, { filename, importModuleDynamically });
}

function requireFrom(file) {
  const known = requires.get(file) ?? Module.createRequire(file);
  requires.set(file, known);
  return known;
}

/**
 * A single test file runs in Jest's own process, where the global setup has run. Jest has translated the ES modules that it loaded: those
 * of the tests would be a second copy of them, with other classes.
 */
function forgetSetup() {
  const forget = ({ filename, children }) => {
    if (require.cache[filename] === undefined) return;
    delete require.cache[filename];
    children.forEach(forget);
  };
  const setup = require.cache[path.join(__dirname, 'start-cluster.ts')];
  if (setup) forget(setup);
}

/** While the sources change, each test file loads them again. */
function forgetSources(rootDir) {
  for (const file of Object.keys(require.cache)) {
    if (file.startsWith(rootDir) && file.endsWith('.ts')) delete require.cache[file];
  }
}

Module._extensions['.ts'] = (module, filename) => {
  module._compile(current.transformCache.transform(filename), filename);
};

/**
 * With `TESTED=dist` the tests run on what `npm run build` has made of the sources: tsc compiles otherwise than swc, and a name that
 * was its alone to break (a local `exports`) has been in a release.
 */
const [SOURCES, BUILD] = ['src', 'dist'].map((folder) => path.resolve(__dirname, '..', '..', folder) + path.sep);
const isBuildTested = process.env.TESTED === 'dist';

function builtOf(file) {
  return file.startsWith(SOURCES) && file.endsWith('.ts') ? BUILD + file.slice(SOURCES.length, -3) + '.js' : file;
}

/** A file that is loaded by its compiled name (open-telemetry.js) has its source beside it. */
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function resolve(request, parent, ...rest) {
  const isCompiledName = /^\..*\.js$/.test(request) && parent?.filename?.endsWith('.ts');
  const file = resolveFilename.call(this, isCompiledName ? request.replace(/\.js$/, '') : request, parent, ...rest);
  return isBuildTested ? builtOf(file) : file;
};
