'use strict';
// Preload of the processes that tests start. Most of the CPU time of a start is loading 2,000 modules: finding their files, and
// compiling them. What one start has found out is kept for the next, in one file for each build. It is for speed only.
const { createHash, randomUUID } = require('node:crypto');
const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const ROOT = path.resolve(__dirname, '../../..');
const FOLDER = path.join(ROOT, 'node_modules/.cache/waybill-starts');
/** What a command or a role loads beyond this is worth another writing. */
const MANY = 20;

/** Where a module is found changes with a build or an installation only. */
function fileOfBuild() {
  const files = [__filename, path.join(ROOT, 'dist/main.js'), path.join(ROOT, 'node_modules/.package-lock.json')];
  const modified = files.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs);
  const build = JSON.stringify([process.version, process.arch, ...modified]);
  return path.join(FOLDER, createHash('sha1').update(build).digest('hex'));
}

/** A line of JSON, and the code of all modules behind it. */
function read(file) {
  const code = new Map();
  try {
    const all = readFileSync(file);
    let at = all.indexOf('\n') + 1;
    const { found, lengths } = JSON.parse(all.toString('utf8', 0, at));
    for (const [key, length] of lengths) code.set(key, all.subarray(at, (at += length)));
    return { code, found };
  } catch {
    return { code, found: {} };
  }
}

/** Another process may write as well: the last one wins, and a reader sees either. */
function write(file, { code, found }) {
  const own = `${file}.${randomUUID()}`;
  const lengths = Array.from(code, ([key, { length }]) => [key, length]);
  try {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(own, Buffer.concat([Buffer.from(`${JSON.stringify({ found, lengths })}\n`), ...code.values()]));
    renameSync(own, file);
    // Those of former builds.
    for (const name of readdirSync(FOLDER)) {
      if (!name.startsWith(path.basename(file))) rmSync(path.join(FOLDER, name), { force: true });
    }
  } catch {
    rmSync(own, { force: true });
  }
}

function keepCode() {
  const file = fileOfBuild();
  const { code, found } = read(file);
  const compiledHere = new Map();
  Object.assign(Module._pathCache, found);

  /** @returns the module's function; undefined for what only Node itself can compile: ES modules, and files that import late */
  function compiled(source, filename, format) {
    if (format === 'module' || source.includes('import(') || source.startsWith('#!')) return undefined;
    const key = createHash('sha1').update(source).digest('base64');
    const cachedData = code.get(key);
    try {
      const script = new Script(Module.wrap(source), { filename, cachedData });
      if (cachedData === undefined || script.cachedDataRejected) compiledHere.set(key, script);
      return script.runInThisContext();
    } catch {
      return undefined;
    }
  }

  const compileAndRun = Module.prototype._compile;
  Module.prototype._compile = function compile(source, filename, format) {
    const run = compiled(source, filename, format);
    if (run === undefined) return compileAndRun.call(this, source, filename, format);
    return run.call(this.exports, this.exports, requireOf(this), this, filename, path.dirname(filename));
  };

  process.on('exit', () => {
    if (compiledHere.size < MANY) return;
    // As at the start: code is refused under other flags, and the service has set this one since.
    setFlagsFromString('--heap-growing-percent=0');
    const known = read(file);
    for (const [key, script] of compiledHere) known.code.set(key, script.createCachedData());
    write(file, { code: known.code, found: { ...known.found, ...Module._pathCache } });
  });
}

function requireOf(module) {
  const require = (id) => module.require(id);
  require.resolve = (request, options) => Module._resolveFilename(request, module, false, options);
  require.resolve.paths = (request) => Module._resolveLookupPaths(request, module);
  return Object.assign(require, { main: process.mainModule, extensions: Module._extensions, cache: Module._cache });
}

// Later releases have the like, for ES modules too.
if (Module.enableCompileCache) Module.enableCompileCache(FOLDER);
else keepCode();
