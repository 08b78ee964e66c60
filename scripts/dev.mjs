// `npm run dev`: compiles, starts the service, and does both again at every change; the console is built beside it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { compilerOf } from './build/compile.mjs';
import { watchConsole } from './build/console.mjs';

const root = path.resolve(import.meta.dirname, '..');
/** The compiler's last line on a change. */
const DONE = /Found (\d+) errors?\. Watching for file changes/;
/** In groups of their own: Ctrl-C reaches this process alone, which ends them in order. */
const DETACHED = process.platform !== 'win32';

let service;
let turn = Promise.resolve();
let isEnding = false;

async function endService(signal) {
  if (!service || service.exitCode !== null || service.signalCode !== null) return;
  const ended = once(service, 'exit');
  service.kill(signal);
  await ended;
}

/** One that ends by itself, for a setting that is wrong, begins again at the next change. */
async function startAgain() {
  await endService('SIGTERM');
  if (isEnding) return;
  const options = { cwd: root, stdio: 'inherit', detached: DETACHED };
  service = spawn(process.execPath, [path.join(root, 'dist/main.js')], options);
}

// Output of deleted sources must not stay.
rmSync(path.join(root, 'dist'), { recursive: true, force: true, maxRetries: 5 });
const args = [compilerOf(root), '-p', 'tsconfig.json', '--watch', '--preserveWatchOutput'];
const compiler = spawn(process.execPath, args, {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
  detached: DETACHED,
});
compiler.once('exit', (code) => {
  if (!isEnding) void end('SIGTERM', code ?? 1);
});

let isConsoleWatched = false;
createInterface({ input: compiler.stdout }).on('line', (line) => {
  console.log(line);
  const errors = DONE.exec(line)?.[1];
  if (errors !== '0') return;
  turn = turn.then(startAgain);
  // The console's files are put beside those of the compiler.
  if (!isConsoleWatched) void watchConsole(root);
  isConsoleWatched = true;
});

async function end(signal, exitCode) {
  if (isEnding) return;
  isEnding = true;
  await turn;
  await endService(signal);
  if (compiler.exitCode === null) compiler.kill();
  process.exit(exitCode ?? service?.exitCode ?? 0);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void end(signal));
