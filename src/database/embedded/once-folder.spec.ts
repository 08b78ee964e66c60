import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { HOUR } from '../../common/clock';
import { createFolderOnce, exists, removePartialFolders } from './once-folder';

describe('createFolderOnce', () => {
  let parent: string;
  let target: string;
  beforeEach(async () => {
    parent = await mkdtemp(path.join(os.tmpdir(), 'waybill-once-'));
    target = path.join(parent, 'cluster');
  });
  afterEach(() => rm(parent, { recursive: true }));

  const fillWith =
    (text: string) =>
    async (partial: string): Promise<void> => {
      await writeFile(path.join(partial, 'content'), text);
    };

  it('lets one of several win, with all of its content', async () => {
    await Promise.all(['a', 'b', 'c'].map((text) => createFolderOnce(target, fillWith(text))));
    expect(await readdir(parent)).toEqual(['cluster']);
    expect(['a', 'b', 'c']).toContain(await readFile(path.join(target, 'content'), 'utf8'));
  });

  it('leaves nothing behind when it fails', async () => {
    await expect(createFolderOnce(target, () => Promise.reject(new Error('disk full')))).rejects.toThrow('disk full');
    expect(await readdir(parent)).toEqual([]);
  });

  it('leaves nothing behind of what was still being written when it failed', async () => {
    let writing: Promise<void> | undefined;
    const fill = async (partial: string): Promise<void> => {
      writing = writeFiles(partial, 300).catch(() => undefined);
      while ((await readdir(partial)).length === 0);
      throw new Error('interrupted');
    };
    await expect(createFolderOnce(target, fill)).rejects.toThrow('interrupted');
    await writing;
    expect(await readdir(parent)).toEqual([]);
  });

  it('is content when another one was faster and tidied up', async () => {
    await createFolderOnce(target, async (partial) => {
      await createFolderOnce(target, fillWith('faster'));
      await removePartialFolders(target);
      expect(await exists(partial)).toBe(false);
    });
    expect(await readFile(path.join(target, 'content'), 'utf8')).toBe('faster');
  });

  it('removes the remains of killed attempts once it has succeeded', async () => {
    await mkdir(`${target}.partial-killed`);
    await createFolderOnce(target, fillWith('a'));
    expect(await readdir(parent)).toEqual(['cluster']);
  });

  it('removes old remains before it tries, and not what another one may be at', async () => {
    for (const name of ['old', 'running']) await mkdir(`${target}.partial-${name}`);
    const longAgo = new Date(Date.now() - 2 * HOUR);
    await utimes(`${target}.partial-old`, longAgo, longAgo);
    await expect(createFolderOnce(target, () => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
    expect(await readdir(parent)).toEqual(['cluster.partial-running']);
  });

  it('removes the remains of a killed attempt, and nothing else', async () => {
    for (const name of ['cluster', 'cluster.partial-x', 'cluster.other']) await mkdir(path.join(parent, name));
    await removePartialFolders(target);
    expect((await readdir(parent)).sort()).toEqual(['cluster', 'cluster.other']);
  });
});

async function writeFiles(folder: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await writeFile(path.join(folder, String(number)), '');
}
