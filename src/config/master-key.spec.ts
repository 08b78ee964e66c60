import fs, { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unusableDataDir, unusableFile } from './data-dir';
import { StoredMasterKey } from './master-key';

const [OF_DATA, OF_BACKUP] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

describe('the first master key', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'master-key-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const write = (text: string) => writeFileSync(join(folder, 'master.key'), text);

  it('is made once, and nothing else is left', () => {
    const made = new StoredMasterKey(folder).readOrCreate();
    expect(made).toHaveLength(32);
    expect(new StoredMasterKey(folder).readOrCreate()).toEqual(made);
    expect(readdirSync(folder)).toEqual(['master.key']);
  });

  it('leaves nothing behind where there is no room for it', () => {
    const written = jest.spyOn(fs, 'writeFileSync').mockImplementation((file) => {
      fs.closeSync(fs.openSync(String(file), 'w'));
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    });
    expect(() => new StoredMasterKey(folder).readOrCreate()).toThrow('ENOSPC');
    written.mockRestore();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not made for a command that makes no database', () => {
    const empty = join(folder, 'empty');
    expect(() => new StoredMasterKey(empty).readOrCreate(false)).toThrow('There is no database in');
    expect(existsSync(empty)).toBe(false);
  });

  it('does not take the place of a file that a full disk has left empty, and says what to do', () => {
    write('');
    expect(() => new StoredMasterKey(folder).readOrCreate()).toThrow(/master\.key is empty: delete it/);
    expect(readdirSync(folder)).toEqual(['master.key']);
  });

  it.each(['', undefined])('is not made beside a database, which needs the lost one: %j', (text) => {
    if (text !== undefined) write(text);
    mkdirSync(join(folder, 'pg18'));
    expect(() => new StoredMasterKey(folder).readOrCreate()).toThrow(/is missing or empty, .*: restore it from a copy/);
  });

  it('takes the place of nothing that is no key', () => {
    write('not a key');
    expect(() => new StoredMasterKey(folder).readOrCreate()).toThrow('must hold 32 bytes in base64');
  });
});

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

describe('a fault of the file system', () => {
  const fault = (code: string, path?: string) => Object.assign(new Error(`${code}: write`), { code, path });

  it('names the file of the data directory that another user owns', () => {
    expect(unusableDataDir('/data', fault('EACCES', '/data/master.key'))).toBe(
      'WAYBILL_DATA_DIR: /data/master.key cannot be used, since this user may not read and write it (EACCES): ' +
        'start the service as the user who owns it, or give it to this one',
    );
    expect(unusableDataDir('/data', fault('EACCES', '/data'))).toMatch(
      /^WAYBILL_DATA_DIR: \/data cannot .* make it writable/,
    );
    expect(unusableFile(fault('EACCES', '/data/credentials.json'))).toMatch(
      /^\/data\/credentials.json cannot be used, since this user .*: start the service as the user who owns it/,
    );
  });

  it('asks for room where the disk is full', () => {
    for (const code of ['ENOSPC', 'EDQUOT']) {
      expect(unusableDataDir('/data', fault(code))).toMatch(
        /: make room, or set WAYBILL_DATA_DIR to a directory where there is some$/,
      );
      expect(unusableFile(fault(code))).toMatch(/\(E\w+: write\)$/);
    }
  });

  it('is not made of any other error', () => {
    expect(unusableFile(new Error('other'))).toBeUndefined();
    expect(unusableFile(fault('EACCES'))).toBeUndefined();
    expect(unusableFile('EACCES')).toBeUndefined();
    expect(unusableDataDir('/data', fault('ECONNREFUSED'))).toBeUndefined();
  });
});
