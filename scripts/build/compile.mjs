// Compiles `src` into `dist`: the first half of `npm run build`. TypeScript 7 writes what 6 does, in a quarter of the time.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

/** @param root the project's folder */
export function compilerOf(root) {
  return path.join(root, 'node_modules/typescript-7/bin/tsc');
}

/** All output goes to stderr. @returns the exit code */
export function compile(root) {
  // Output of deleted sources must not stay.
  rmSync(path.join(root, 'dist'), { recursive: true, force: true, maxRetries: 5 });
  return new Promise((resolve, reject) => {
    const args = [compilerOf(root), '-p', 'tsconfig.json'];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

if (process.argv[1] === import.meta.filename)
  process.exitCode = await compile(path.resolve(import.meta.dirname, '../..'));
