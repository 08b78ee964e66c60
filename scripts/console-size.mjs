// Bytes that a browser loads before the console shows its first page, compressed: `npm run console:size`. Ends with 1 if it is more
// than 150 KiB.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { ensureBuild } from './build/ensure-build.mjs';

const MAX_BYTES = 150 * 1024;
const root = path.resolve(import.meta.dirname, '..');
const folder = path.join(root, 'dist/console');

/** A script and everything that it imports statically, without later imports by `import()`. */
function scriptsFrom(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  const text = readFileSync(path.join(folder, 'assets', name), 'utf8');
  for (const [, imported] of text.matchAll(/(?:from|import)\s?"\.\/([\w-]+\.js)"/g)) scriptsFrom(imported, found);
  return found;
}

process.exitCode = await ensureBuild(root);
if (process.exitCode === 0) {
  const page = readFileSync(path.join(folder, 'index.html'), 'utf8');
  const names = [...page.matchAll(/"\/console\/assets\/([^"]+)"/g)].map(([, name]) => name);
  // The page names what its scripts import as well: each is loaded once.
  const scripts = [...new Set(names.filter((name) => name.endsWith('.js')).flatMap((name) => [...scriptsFrom(name)]))];
  const others = names.filter((name) => name.endsWith('.css'));
  const sizeOf = (name) => gzipSync(readFileSync(path.join(folder, 'assets', name))).length;
  for (const name of [...scripts, ...others]) console.log(`${String(sizeOf(name)).padStart(8)}  ${name}`);
  const total = scripts.reduce((sum, name) => sum + sizeOf(name), 0);
  console.log(`${String(total).padStart(8)}  bytes of script, of ${MAX_BYTES} at most`);
  if (total > MAX_BYTES) process.exitCode = 1;
}
