import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Inputs of the build besides the sources. */
const CONFIGURATION = ['tsconfig.json', 'package.json', 'console/index.html', 'console/icon.svg'];
const SOURCES = ['src', 'console/src'];
/** Written by the type check, after a build: types alone, and the folder that they appear in. */
const GENERATED = ['console/src/api/schema.d.ts', 'console/src/api'];

/** Modification time in milliseconds; 0 for a missing file. */
export function modifiedMs(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * The files whose change requires a build. Folders count as well: they change when a file is removed. Unit specs are next to
 * the sources but are not compiled.
 */
function* inputs(root) {
  const generated = new Set(GENERATED.map((name) => path.join(root, name)));
  for (const name of CONFIGURATION) yield path.join(root, name);
  for (const source of SOURCES.map((name) => path.join(root, name)).filter((folder) => existsSync(folder))) {
    yield source;
    for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      if (!entry.name.endsWith('.spec.ts') && !generated.has(file)) yield file;
    }
  }
}

/** The newest input: `{ file, modifiedMs }`. A time in the future (after a wrong clock) would stay newer for ever. */
export function newestInput(root) {
  const nowMs = Date.now();
  let newest = { file: '', modifiedMs: 0 };
  for (const file of inputs(root)) {
    const candidate = { file, modifiedMs: modifiedMs(file) };
    if (candidate.modifiedMs > newest.modifiedMs && candidate.modifiedMs <= nowMs) newest = candidate;
  }
  return newest;
}
