import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInitdbForUnnamedUser } from './cluster';

describe('createInitdbForUnnamedUser', () => {
  let root: string;
  beforeEach(async () => (root = await mkdtemp(path.join(os.tmpdir(), 'waybill-unnamed-'))));
  afterEach(() => rm(root, { recursive: true }));

  async function exchange(content: string): Promise<string> {
    const bin = path.join(root, 'native', 'bin');
    await mkdir(bin, { recursive: true });
    const binaries = { initdb: path.join(bin, 'initdb'), pgCtl: '', postgres: path.join(bin, 'postgres') };
    for (const file of [binaries.initdb, binaries.postgres]) await writeFile(file, content);
    return readFile(await createInitdbForUnnamedUser(binaries, path.join(root, 'tools')), 'latin1');
  }

  it('exchanges exactly the one name, in copies', async () => {
    const content = 'ELF\0getpwuid_r\0getpwuid\0getpwuid@GLIBC\0';
    await expect(exchange(content)).resolves.toBe('ELF\0getpwuid_r\0getpwent\0getpwuid@GLIBC\0');
    expect(await readFile(path.join(root, 'native', 'bin', 'initdb'), 'latin1')).toBe(content);
  });

  it.each(['ELF\0', 'ELF\0getpwuid\0getpwuid\0'])('refuses a program that looks otherwise', async (content) => {
    await expect(exchange(content)).rejects.toThrow('without an account');
  });
});
