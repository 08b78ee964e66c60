// `npm run dev`: compiles, starts the service, and does both again at every change; the console is built beside it.
import { spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { watchConsole } from './build/console.mjs';

const root = path.resolve(import.meta.dirname, '..');
const nest = path.join(root, 'node_modules/@nestjs/cli/bin/nest.js');
const main = path.join(root, 'dist/main.js');

const hasGroups = process.platform !== 'win32';

// So that the compiler has nothing to remove while something else is written there.
rmSync(path.join(root, 'dist'), { recursive: true, force: true, maxRetries: 5 });
const service = spawn(process.execPath, [nest, 'start', '--watch', '--preserveWatchOutput'], {
  cwd: root,
  stdio: 'inherit',
  detached: hasGroups,
});
service.once('exit', (code) => process.exit(code ?? 0));

// The compiler does not hand signals on to the service that it has started: both get them, as a group of their own.
const end = (signal) => (hasGroups ? process.kill(-service.pid, signal) : service.kill(signal));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(signal));

// The console's files are put beside those of the compiler.
while (!existsSync(main)) await delay(200);
await watchConsole(root);
