import files from 'node:fs/promises';
import { ConsoleFiles } from './console-files';

describe('the files of the console', () => {
  it('are read again after they could not be read once', async () => {
    const served = new ConsoleFiles();
    const readdir = jest.spyOn(files, 'readdir').mockRejectedValueOnce(new Error('EMFILE: too many open files'));
    const built = jest.spyOn(files, 'stat').mockResolvedValue({ mtimeMs: 1 } as never);
    await expect(served.page()).rejects.toThrow('EMFILE');
    readdir.mockResolvedValue([]);
    await expect(served.page()).resolves.toBeDefined();
    expect([readdir.mock.calls.length, built.mock.calls.length]).toEqual([2, 2]);
  });
});
