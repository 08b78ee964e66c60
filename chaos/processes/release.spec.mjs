import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { loaderOf } from './release.mjs';

let dist;

beforeEach(() => {
  dist = mkdtempSync(path.join(os.tmpdir(), 'waybill-release-'));
  for (const [file, value] of [
    ['database/start/open-database.js', 1],
    ['auth/keys.js', 2],
    ['webhooks/keys.js', 3],
  ]) {
    mkdirSync(path.join(dist, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(dist, file), `module.exports = ${value};`);
  }
});
afterEach(() => rmSync(dist, { recursive: true }));

it('loads a file of a release by its name, and refuses one that is not there or not alone', () => {
  const load = loaderOf(dist);
  expect(load('open-database.js')).toBe(1);
  expect(() => load('keys.js')).toThrow('has 2 files keys.js');
  expect(() => load('sessions.js')).toThrow('has 0 files sessions.js');
});
