import { mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createLibraryLinks } from './binaries';

const LIST = [
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/deep/libpq.so' },
];

describe('createLibraryLinks', () => {
  let native: string;
  beforeEach(async () => {
    native = await mkdtemp(path.join(os.tmpdir(), 'waybill-links-'));
    await mkdir(path.join(native, 'lib', 'deep'), { recursive: true });
    await writeFile(path.join(native, 'lib', 'libpq.so.5.18'), 'library');
  });
  afterEach(() => rm(native, { recursive: true }));

  it('makes relative links, in whatever folder the tree lies, and as often as asked', async () => {
    await writeFile(path.join(native, 'pg-symlinks.json'), JSON.stringify(LIST));
    await expect(createLibraryLinks(native)).resolves.toBe(true);
    await expect(createLibraryLinks(native)).resolves.toBe(true);
    expect(await readlink(path.join(native, 'lib', 'libpq.so.5'))).toBe('libpq.so.5.18');
    expect(await readFile(path.join(native, 'lib', 'deep', 'libpq.so'), 'utf8')).toBe('library');
  });

  it('has nothing to do without a list', async () => {
    await expect(createLibraryLinks(native)).resolves.toBe(true);
  });
});
