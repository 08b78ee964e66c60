import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { loadEnvFile } from './load-env-file';

describe('loadEnvFile', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'waybill-env-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('does without a file', () => {
    expect(() => loadEnvFile(path.join(folder, '.env'))).not.toThrow();
  });

  it('does not mind a folder of that name', () => {
    mkdirSync(path.join(folder, '.env'));
    expect(() => loadEnvFile(path.join(folder, '.env'))).not.toThrow();
  });
});
