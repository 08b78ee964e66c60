import { existsSync, rmSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { compile, compilerOf } from './compile.mjs';
import { buildConsole } from './console.mjs';
import { isLocked, lockOf, withLock } from './lock.mjs';
import { modifiedMs, newestInput } from './staleness.mjs';

/**
 * Builds `src` and `console` into `dist` if needed. Fast when `dist` is up to date; several processes may call it at once.
 *
 * All output goes to stderr: stdout belongs to the command that follows.
 *
 * @param root the project's folder.
 * @returns 0, or the exit code of the build.
 */
export async function ensureBuild(root) {
  const main = path.join(root, 'dist', 'main.js');
  // A production image carries the build only.
  if (!existsSync(path.join(root, 'src')))
    return existsSync(main) ? 0 : fail('There is neither src/ nor dist/main.js.');
  const lock = lockOf(root);
  // Takes the lock first: in the middle of a build some files are new and others missing.
  if (!isLocked(lock) && isFresh(root, main)) return 0;
  if (!existsSync(compilerOf(root))) return withoutCompiler(main);
  const buildIfStill = () => (isFresh(root, main) ? 0 : build(root, main));
  return withLock(lock, buildIfStill, () => say('waiting for a build that runs'));
}

function isFresh(root, main) {
  return modifiedMs(main) >= newestInput(root).modifiedMs && modifiedMs(main) > 0;
}

/** Without development packages installed, an older build is better than none. */
function withoutCompiler(main) {
  if (!existsSync(main)) return fail('dist/main.js is missing, and so is the compiler: run `npm install`.');
  say('dist/ is older than src/, but the compiler is not installed: using it as it is.');
  return 0;
}

async function build(root, main) {
  const newest = newestInput(root);
  const beginMs = Date.now();
  say(`building, because ${existsSync(main) ? `${path.relative(root, newest.file)} is newer` : 'dist/ is missing'}`);
  const exitCode = (await compile(root)) || (await buildPages(root));
  if (exitCode === 0 && !existsSync(main)) return fail('the build made no dist/main.js');
  // The compiler also writes files when it reports errors; such a result must not count as a build.
  if (exitCode !== 0) rmSync(main, { force: true });
  // So that an edit made while the compiler ran is newer than the result.
  else utimesSync(main, beginMs / 1_000, beginMs / 1_000);
  return exitCode;
}

/** @returns the exit code; errors have been printed */
async function buildPages(root) {
  if (!existsSync(path.join(root, 'console/src'))) return 0;
  return buildConsole(root).then(
    () => 0,
    (error) => fail(`the console was not built: ${error.message}`),
  );
}

function fail(message) {
  say(message);
  return 1;
}

function say(message) {
  process.stderr.write(`waybill: ${message}\n`);
}
