import { createRequire } from 'node:module';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** The built product. */
export const DIST = path.join(ROOT, 'dist');

/** Loads one of its modules, by its path in dist/, or one of its dependencies. */
export const load = createRequire(path.join(DIST, 'main.js'));
