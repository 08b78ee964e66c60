import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInitdbForUnnamedUser, whyItFailed } from './cluster';

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

describe('whyItFailed', () => {
  const before =
    'The files belonging to this database system will be owned by user "postgres".\ncreating subdirectories ... ok\n';
  const failed = (output: string) => whyItFailed({ exitCode: 1, output: before + output }, os.tmpdir());

  it.each([
    'running bootstrap script ... FATAL:  could not extend file "base/1/2691"\nHINT:  Check free disk space.',
    'initdb: error: could not write file "/proc/self/cwd/PG_VERSION": No space left on device',
  ])('names a full disk, which has room again once initdb has removed its files: %s', async (output) => {
    await expect(failed(output)).resolves.toBe(
      `the disk of ${os.tmpdir()} has too little room: a new database takes 50 MB, and mail needs more`,
    );
  });

  it('repeats what initdb says of any other fault, and nothing of what went well', async () => {
    const fault = 'performing post-bootstrap initialization ... FATAL:  invalid something\nchild process exited';
    await expect(failed(fault)).resolves.toBe(`initdb failed with exit code 1: ${fault}`);
    await expect(failed('killed')).resolves.toBe(`initdb failed with exit code 1: ${before}killed`);
  });
});
