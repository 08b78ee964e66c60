// `npm test`: the static checks beside the tests. Much of what the tests take is waiting, for processes that start and for mail that
// is to come; the checks are all computing. Arguments are handed to Jest. The exit code is 1 if either fails. The tests run on the build,
// `dist`, that the service is started from (test/setup/shared-runtime.js).
import { spawn } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
/**
 * V8 of Node 20 optimizes functions that have run for a few milliseconds, which took a fifth of the CPU time of test files and of a
 * start of the service; most are then hardly used again. Jest hands the flag to its workers, and they to the services they start.
 */
const optimizesLater = process.versions.v8.startsWith('11.') ? ['--interrupt-budget=1000000'] : [];

function run(script, ...args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...optimizesLater, path.join(root, script), ...args], {
      cwd: root,
      stdio: 'inherit',
      env: { TESTED: 'dist', ...process.env },
    });
    child.on('close', (code) => resolve(code === 0));
  });
}

const [areChecked, areTested] = await Promise.all([
  // One at a time: the tests have processes of their own.
  run('scripts/check-static.mjs', '--at-a-time', '1'),
  run('node_modules/jest/bin/jest.js', ...process.argv.slice(2)),
]);
if (!areChecked) console.error('\nThe static checks have failed: their output is above, among that of the tests.');
process.exitCode = areChecked && areTested ? 0 : 1;
