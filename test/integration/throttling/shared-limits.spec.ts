import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { MINUTE } from '../../../src/common/clock';
import { Metrics } from '../../../src/common/metrics/metrics';
import { createDataSource } from '../../../src/database/pool/data-source';
import { Database } from '../../../src/database/pool/database.service';
import { deleteExpiredHits, recordHits } from '../../../src/throttling/sql/throttle-hits.sql';
import { SharedThrottleStorage } from '../../../src/throttling/shared-throttle.storage';
import { ThrottleHitsRepository } from '../../../src/throttling/throttle-hits.repository';
import { hitsOf } from '../../../src/throttling/window-counters';
import { FakeClock } from '../../doubles/fake-clock';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { waitFor } from '../../setup/wait-for';

const LIMIT = 50;

/** One process: its own pool, counters and metrics. */
interface Instance {
  readonly source: DataSource;
  readonly database: Database;
  readonly repository: ThrottleHitsRepository;
  readonly storage: SharedThrottleStorage;
  readonly metrics: Metrics;
  /** One request against the limit; true when it is admitted. */
  request(key?: string): boolean;
  hits(key?: string): number;
}

describe('rate limits of several instances', () => {
  let testDatabase: TestDatabase;
  let clock: FakeClock;
  const instances: Instance[] = [];

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
  });
  beforeEach(() => {
    clock = new FakeClock('2026-01-05T12:00:10.000Z');
  });
  afterEach(async () => {
    for (const { source, storage } of instances.splice(0)) {
      await storage.onModuleDestroy();
      await source.destroy();
    }
  });
  afterAll(() => testDatabase.drop());

  async function start(): Promise<Instance> {
    const source = await createDataSource(testDatabase.url, { poolSize: 2 }).initialize();
    const database = new Database(source);
    const repository = new ThrottleHitsRepository(database);
    const metrics = new Metrics();
    const storage = new SharedThrottleStorage(repository, clock, metrics);
    const counter = (key: string) => storage.counter(key, MINUTE, clock.now().getTime());
    const instance: Instance = {
      source,
      database,
      repository,
      storage,
      metrics,
      request: (key = 'shared') => {
        if (hitsOf(counter(key)) >= LIMIT) return false;
        storage.hit(counter(key));
        return true;
      },
      hits: (key = 'shared') => hitsOf(counter(key)),
    };
    instances.push(instance);
    return instance;
  }

  it('share one limit, except for hits that are not yet exchanged', async () => {
    const [first, second] = [await start(), await start()];
    for (let count = 0; count < 30; count += 1) expect(first.request()).toBe(true);
    await first.storage.flush();
    expect(second.request()).toBe(true);
    await second.storage.flush();
    expect(second.hits()).toBe(31);
    const admitted = Array.from({ length: 30 }, () => second.request()).filter(Boolean);
    expect(admitted).toHaveLength(19);
    await second.storage.flush();
    expect(first.request()).toBe(true);
    await first.storage.flush();
    // What one admitted before it knew of the other is counted all the same.
    expect(first.hits()).toBe(51);
    expect(first.request()).toBe(false);
  });

  it('never admit more than the limit each, all at once', async () => {
    const all = [await start(), await start(), await start()];
    const admitted = all.map((one) => Array.from({ length: 100 }, () => one.request('burst')).filter(Boolean).length);
    expect(admitted).toEqual([LIMIT, LIMIT, LIMIT]);
    await Promise.all(all.map(({ storage }) => storage.flush()));
    expect(all.map((one) => one.request('burst'))).toEqual([false, false, false]);
  });

  it('flush by themselves, without waiting for anyone', async () => {
    const [first, second] = [await start(), await start()];
    for (let count = 0; count < 20; count += 1) first.request('timed');
    second.request('timed');
    await waitFor(() => Math.max(first.hits('timed'), second.hits('timed')) === 21, { what: 'the total to arrive' });
  });

  it('begin again with the next window', async () => {
    const first = await start();
    for (let count = 0; count < LIMIT; count += 1) first.request('windows');
    expect(first.request('windows')).toBe(false);
    await first.storage.flush();
    clock.advance(50_000);
    expect(first.request('windows')).toBe(true);
    await first.storage.flush();
    expect(first.hits('windows')).toBe(1);
  });

  it('go on alone while the store is away, say so once, and share again when it is back', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const log = jest.spyOn(Logger.prototype, 'log').mockImplementation();
    const [first, second] = [await start(), await start()];
    // What other files of this process have left behind may log as well.
    const said = (spy: jest.SpyInstance) =>
      spy.mock.calls.filter(([text]) => String(text).includes('rate limit store'));
    await second.database.run({ name: 'away', text: 'alter table throttle_hits rename to gone', values: [] });
    for (let count = 0; count < 10; count += 1) expect(first.request('away')).toBe(true);
    await first.storage.flush();
    await first.storage.flush();
    expect(first.hits('away')).toBe(10);
    expect(said(warn)).toHaveLength(1);
    expect(await first.metrics.registry.metrics()).toMatch(/waybill_throttle_store_available 0[^]*/);
    expect(await first.metrics.registry.metrics()).toMatch(/waybill_throttle_store_failures_total 2/);

    await second.database.run({ name: 'back', text: 'alter table gone rename to throttle_hits', values: [] });
    await first.storage.flush();
    expect(said(log)).toHaveLength(1);
    expect(await first.metrics.registry.metrics()).toContain('waybill_throttle_store_available 1');
    second.request('away');
    await second.storage.flush();
    expect(second.hits('away')).toBe(11);
    jest.restoreAllMocks();
  });

  it('survive the loss of their connections', async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    jest.spyOn(Logger.prototype, 'log').mockImplementation();
    const [first, second] = [await start(), await start()];
    first.request('lost');
    await first.storage.flush();
    const text =
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()';
    await second.database.run({ name: 'terminate', text, values: [] });
    first.request('lost');
    await waitFor(
      async () => {
        await first.storage.flush();
        return (await first.metrics.registry.metrics()).includes('waybill_throttle_store_available 1');
      },
      { what: 'a new connection' },
    );
    expect(first.hits('lost')).toBe(2);
    jest.restoreAllMocks();
  });

  it('write the remaining hits when they stop', async () => {
    const [first, second] = [await start(), await start()];
    for (let count = 0; count < 5; count += 1) first.request('stopped');
    await first.storage.onModuleDestroy();
    second.request('stopped');
    await second.storage.flush();
    expect(second.hits('stopped')).toBe(6);
  });

  it('serve the library’s own interface', async () => {
    const { storage } = await start();
    expect(await storage.increment('library', MINUTE, 1)).toEqual({
      totalHits: 1,
      timeToExpire: 50,
      isBlocked: false,
      timeToBlockExpire: 0,
    });
    expect(await storage.increment('library', MINUTE, 1)).toMatchObject({
      totalHits: 1,
      isBlocked: true,
      timeToBlockExpire: 50,
    });
  });

  describe('statements', () => {
    const windowStart = new Date('2026-01-05T12:00:00.000Z');
    const row = (key: string, hits: number, expiresAt = new Date('2999-01-01')) => ({
      key,
      windowStart,
      hits,
      expiresAt,
    });

    it('add, return totals beyond 2^31, and accept an empty batch', async () => {
      const { database } = await start();
      expect(await database.run(recordHits([row('big', 2 ** 33), row('small', 1)]))).toEqual(
        expect.arrayContaining([
          { key: 'big', hits: 2 ** 33 },
          { key: 'small', hits: 1 },
        ]),
      );
      expect(await database.run(recordHits([row('big', 1)]))).toEqual([{ key: 'big', hits: 2 ** 33 + 1 }]);
      expect(await database.run(recordHits([]))).toEqual([]);
    });

    it('lose no hit to concurrent batches in any order', async () => {
      const all = [await start(), await start()];
      const keys = Array.from({ length: 50 }, (_, index) => `concurrent-${index}`);
      const batches = Array.from({ length: 40 }, (_, index) => {
        const ordered = index % 2 === 0 ? keys : keys.toReversed();
        return all[index % 2]!.database.run(recordHits(ordered.map((key) => row(key, 1))));
      });
      await Promise.all(batches);
      const totals = await all[0]!.database.run(recordHits(keys.map((key) => row(key, 0))));
      expect(new Set(totals.map(({ hits }) => hits))).toEqual(new Set([40]));
    });

    it('delete only expired hits', async () => {
      const { database, repository } = await start();
      // The clock of these tests is behind the database's.
      await repository.deleteExpired(5_000);
      await database.run(recordHits([row('old', 1, new Date('2020-01-01')), row('new', 1)]));
      expect(await repository.deleteExpired(5_000)).toBe(1);
      expect(await repository.deleteExpired(5_000)).toBe(0);
      expect(await database.run(recordHits([row('old', 1), row('new', 1)]))).toEqual(
        expect.arrayContaining([
          { key: 'old', hits: 1 },
          { key: 'new', hits: 2 },
        ]),
      );
    });

    it('find what has expired by its index among many that have not', async () => {
      const { database, source } = await start();
      const keys = Array.from({ length: 20 }, (_, index) => index * 1_000);
      for (const from of keys) {
        await database.run(recordHits(Array.from({ length: 1_000 }, (_, index) => row(`plan-${from + index}`, 1))));
      }
      await source.query('analyze throttle_hits');
      const plan = await source.query<{ 'QUERY PLAN': string }[]>(`explain ${deleteExpiredHits(5_000).text}`, [5_000]);
      const text = plan.map((line) => line['QUERY PLAN']).join('\n');
      expect(text).toContain('throttle_hits_expired');
      expect(text).not.toContain('Seq Scan on throttle_hits');
    });
  });
});
