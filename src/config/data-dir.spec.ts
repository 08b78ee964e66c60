import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoredMasterKey } from './data-dir';

const [OF_DATA, OF_BACKUP] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

describe('the stored master key, while a backup with another one is restored', () => {
  let folder: string;
  let stored: StoredMasterKey;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'master-key-'));
    stored = new StoredMasterKey(folder);
    stored.install(OF_DATA);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('stays the one in use, and has no trace of the other after a failure', () => {
    stored.stage(OF_BACKUP);
    expect([stored.readOrCreate(), stored.readPrevious()]).toEqual([OF_DATA, undefined]);
    stored.unstage();
    expect(readdirSync(folder)).toEqual(['master.key']);
  });

  it('becomes the previous one once the backup is there', () => {
    stored.stage(OF_BACKUP);
    stored.install(OF_BACKUP);
    expect([stored.readOrCreate(), stored.readPrevious()]).toEqual([OF_BACKUP, OF_DATA]);
    expect(readdirSync(folder).sort()).toEqual(['master.key', 'master.key.previous']);
  });

  it('is the backup’s, in an empty directory, when the restore ended right after its commit', () => {
    const empty = join(folder, 'empty');
    new StoredMasterKey(empty).stage(OF_BACKUP);
    mkdirSync(join(empty, 'pg18'));
    expect(new StoredMasterKey(empty).readOrCreate()).toEqual(OF_BACKUP);
    expect(existsSync(join(empty, 'master.key.restored'))).toBe(false);
  });
});
