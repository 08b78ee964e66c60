import { Logger } from '@nestjs/common';
import { DiskFullError, DiskSpace } from './disk-space';
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
    const take = (bytes: number) => {
      try {
        disk.assertRoom(bytes);
        return true;
      } catch {
        return false;
      }
    };
    const inOneInterval = Array.from({ length: 1_000 }, () => take(10)).filter(Boolean);
    expect(inOneInterval).toHaveLength(45);
    expect(read).toHaveBeenCalledTimes(2);
    expect(take(0)).toBe(true);
    // Less has been written than was estimated.
    free.set('/a', 300);
    await disk.read();
    expect(Array.from({ length: 1_000 }, () => take(10)).filter(Boolean)).toHaveLength(10);
    free.set('/a', 99);
    await disk.read();
    expect(take(0)).toBe(false);
  });

  it('reads the operating system, also of a folder that is still to be made, and shows it to Prometheus', async () => {
    const metrics = new Metrics();
    const disk = new DiskSpace({ folders: ['/nonexistent/folder'], reserveBytes: 1 });
    await disk.watch(metrics);
    expect(disk.health).toEqual({ healthy: true, freeBytes: expect.any(Number) });
    expect(await metrics.registry.metrics()).toMatch(/waybill_disk_free_bytes \d+\n[\s\S]*waybill_disk_low 0/);
  });
});
