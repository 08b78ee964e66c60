import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isAlive, parsePostmasterFile, readPostmasterFile, retireStalePostmasterFile } from './postmaster-file';

const REST = '/srv/data\n1763690279\n33563\n\n127.0.0.1\n  12345        67\nready   \n';

describe('the file of the postmaster', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(path.join(os.tmpdir(), 'waybill-postmaster-'))));
  afterEach(() => rm(folder, { recursive: true }));
  const write = (pid: number): Promise<void> => writeFile(path.join(folder, 'postmaster.pid'), `${pid}\n${REST}`);
  const text = (): Promise<string> => readFile(path.join(folder, 'postmaster.pid'), 'utf8');

  it('returns process, port and status', () => {
    expect(parsePostmasterFile(`7016\n${REST}`)).toEqual({ pid: 7016, port: 33563, status: 'ready' });
  });

  it.each(['', '7016\n', '7016\n/srv/data\n1763690279\n', 'x\n' + REST])('is not complete as %j', (content) => {
    expect(parsePostmasterFile(content)).toBeUndefined();
  });

  it('is missing after an orderly stop', async () => {
    await expect(readPostmasterFile(folder)).resolves.toBeUndefined();
    await expect(retireStalePostmasterFile(folder)).resolves.toBeUndefined();
  });

  it('keeps all but the number when another process has it', async () => {
    await write(process.pid);
    await retireStalePostmasterFile(folder);
    // Only Linux shows what a process is.
    const expected = process.platform === 'linux' ? 4_194_305 : process.pid;
    expect(await text()).toBe(`${expected}\n${REST}`);
  });

  it('is left alone when the process is gone: Postgres deals with that', async () => {
    const child = spawn(process.execPath, ['-e', '0']);
    await once(child, 'exit');
    const pid = child.pid ?? 0;
    expect(isAlive(pid)).toBe(false);
    await write(pid);
    await retireStalePostmasterFile(folder);
    expect(await text()).toBe(`${pid}\n${REST}`);
  });
});
