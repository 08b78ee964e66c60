import { Logger } from '@nestjs/common';
import { DAY } from './clock';
import { describeFullDisk, DiskFullError, DiskShareError, DiskSpace } from './disk-space';
import { Metrics } from './metrics/metrics';

describe('DiskSpace', () => {
  const free = new Map<string, number | undefined>();
  const freeBytes = (folder: string) => {
    const bytes = free.get(folder);
    return bytes === undefined ? Promise.reject(new Error('EACCES')) : Promise.resolve(bytes);
  };
  const watching = (reserveBytes = 100) => new DiskSpace({ folders: ['/a', '/b'], reserveBytes, freeBytes });
  const log = { error: jest.spyOn(Logger.prototype, 'error'), log: jest.spyOn(Logger.prototype, 'log') };
  beforeEach(() => {
    log.error.mockReset();
    log.log.mockReset();
    free.clear();
    free.set('/a', 1_000).set('/b', 1_000);
  });
  afterAll(() => jest.restoreAllMocks());

  it('refuses while any of its disks is below the reserve, and for a tenth longer', async () => {
    const disk = watching();
    const refusesAt = async (bytes: number) => {
      free.set('/b', bytes);
      await disk.read();
      try {
        disk.assertRoom();
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(DiskFullError);
        expect(error).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 30 });
        return true;
      }
    };
    const answers: boolean[] = [];
    for (const bytes of [100, 99, 100, 109, 110, 100]) answers.push(await refusesAt(bytes));
    expect(answers).toEqual([false, true, true, true, false, false]);
    expect(log.error).toHaveBeenCalledTimes(1);
    expect(log.log).toHaveBeenCalledTimes(1);
    expect(disk.health).toEqual({ healthy: true, freeBytes: 100 });
  });

  it('logs no refusals for a process that takes no mail in', async () => {
    const disk = new DiskSpace({ folders: ['/a'], reserveBytes: 100, freeBytes, takesMail: false });
    for (const bytes of [99, 110]) {
      free.set('/a', bytes);
      await disk.read();
    }
    const said = [...log.error.mock.calls, ...log.log.mock.calls].map(([message]) => String(message));
    expect(said).toEqual([expect.stringMatching(/^A full disk would/), expect.stringMatching(/^There is room again/)]);
  });

  it('keeps what it knows while a disk cannot be read, and has no limit without a reserve', async () => {
    free.set('/a', 0).set('/b', undefined);
    const disk = watching();
    await disk.read();
    free.set('/a', undefined);
    await disk.read();
    expect(() => disk.assertRoom()).toThrow(DiskFullError);
    free.set('/a', 0);
    const unlimited = watching(0);
    await unlimited.read();
    expect(() => unlimited.assertRoom()).not.toThrow();
  });

  it('counts what is taken in between two readings, twice, and reads again where it reaches the reserve', async () => {
    const read = jest.fn(freeBytes);
    const disk = new DiskSpace({ folders: ['/a'], reserveBytes: 100, freeBytes: read });
    await disk.read();
    const write = () => Promise.resolve(true);
    const take = (bytes: number) => disk.take({ bytes }, write).catch(() => false);
    const takeMany = async () => (await Promise.all(Array.from({ length: 1_000 }, () => take(10)))).filter(Boolean);
    expect(await takeMany()).toHaveLength(45);
    expect(read).toHaveBeenCalledTimes(2);
    expect(await take(0)).toBe(true);
    // Less has been written than was estimated.
    free.set('/a', 300);
    await disk.read();
    expect(await takeMany()).toHaveLength(10);
    free.set('/a', 99);
    await disk.read();
    expect(await take(0)).toBe(false);
  });

  it('counts what is still to be written at a reading until another one comes after it', async () => {
    const disk = watching();
    await disk.read();
    let written: () => void = () => undefined;
    const first = disk.take({ bytes: 400 }, () => new Promise<void>((resolve) => (written = resolve)));
    const take = (bytes: number) => disk.take({ bytes }, () => Promise.resolve(true)).catch(() => false);
    await disk.read();
    expect(await take(51)).toBe(false);
    written();
    await first;
    expect(await take(51)).toBe(false);
    await disk.read();
    expect(await take(400)).toBe(true);
  });

  describe('with less than eight reserves free', () => {
    const write = () => Promise.resolve(true);
    let nowMs = 0;
    const sharing = async (bytes: number) => {
      free.set('/a', bytes);
      const disk = new DiskSpace({ folders: ['/a'], reserveBytes: 100, freeBytes, monotonicMs: () => nowMs });
      await disk.read();
      return disk;
    };
    /** On a disk that each write, of 10 bytes with its log, makes fuller. */
    const takeAll = async (disk: DiskSpace, holder: string) => {
      for (let taken = 0; ; taken += 10) {
        if (!(await disk.take({ bytes: 5, holder }, write).catch(() => false))) return taken;
        free.set('/a', free.get('/a')! - 10);
        await disk.read();
      }
    };

    it('stops the organization that fills the disk at half of the room, and always leaves some to a further one', async () => {
      const disk = await sharing(700);
      expect(await takeAll(disk, 'a')).toBe(300);
      const more = disk.take({ bytes: 5, holder: 'a' }, write);
      await expect(more).rejects.toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 60 });
      expect(await takeAll(disk, 'b')).toBe(150);
      expect(() => disk.assertRoom('a')).toThrow(DiskShareError);
      expect(await takeAll(disk, 'c')).toBe(70);
      await expect(disk.take({ bytes: 5 }, write)).resolves.toBe(true);
    });

    it('counts what an organization has taken in before, half of it after a day', async () => {
      const disk = await sharing(10_000);
      await disk.take({ bytes: 2_000, holder: 'a' }, write);
      await expect(disk.take({ bytes: 100, holder: 'a' }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
      free.set('/a', 600);
      for (let readings = 0; readings < 2; readings += 1) await disk.read();
      expect(() => disk.assertRoom('a')).toThrow(DiskShareError);
      expect(() => disk.assertRoom('b')).not.toThrow();
      nowMs += 3 * DAY;
      expect(() => disk.assertRoom('a')).not.toThrow();
      await expect(disk.take({ bytes: 1, holder: 'a' }, write)).rejects.toThrow(DiskShareError);
    });
  });

  it('reads one at a time: what is written during a reading counts until another one that begins later', async () => {
    const held: (() => void)[] = [];
    const disk = new DiskSpace({
      ...{ folders: ['/a'], reserveBytes: 100 },
      freeBytes: () => new Promise((resolve) => held.push(() => resolve(1_000))),
    });
    const release = async () => {
      for (const give of held.splice(0)) give();
      await new Promise(setImmediate);
    };
    const write = () => Promise.resolve();
    void disk.read();
    await release();
    await disk.take({ bytes: 100 }, write);
    for (let count = 0; count < 2; count += 1) void disk.read();
    await disk.take({ bytes: 200 }, write);
    await release();
    // 900 are above the reserve, and 400 have been written since the reading began.
    await expect(disk.take({ bytes: 251 }, write)).rejects.toThrow(DiskFullError);
    await release();
    await disk.take({ bytes: 251 }, write);
  });

  it('counts what could not be written until the next reading', async () => {
    const disk = watching();
    await disk.read();
    await expect(disk.take({ bytes: 400 }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(() => disk.assertRoom()).not.toThrow();
    await expect(disk.take({ bytes: 51 }, () => Promise.resolve())).rejects.toThrow(DiskFullError);
    await disk.read();
    await expect(disk.take({ bytes: 51 }, () => Promise.resolve(1))).resolves.toBe(1);
  });

  it('reads the operating system, also of a folder that is still to be made, and shows it to Prometheus', async () => {
    const metrics = new Metrics();
    const disk = new DiskSpace({ folders: ['/nonexistent/folder'], reserveBytes: 1 });
    await disk.watch(metrics);
    expect(disk.health).toEqual({ healthy: true, freeBytes: expect.any(Number) });
    expect(await metrics.registry.metrics()).toMatch(/waybill_disk_free_bytes \d+\n[\s\S]*waybill_disk_low 0/);
  });

  it('is described where it is full', async () => {
    free.set('/a', 3 * 2 ** 20).set('/b', 2 ** 30);
    expect(await describeFullDisk('/a', freeBytes)).toBe('the disk of /a is full (3 MiB are free)');
    expect(await describeFullDisk('/b', freeBytes)).toBeUndefined();
    expect(await describeFullDisk('/unreadable', freeBytes)).toBeUndefined();
  });
});
