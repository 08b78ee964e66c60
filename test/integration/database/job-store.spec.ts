import { DataSource } from 'typeorm';
import { UnavailableError } from '../../../src/common/errors/app-error';
import { Database } from '../../../src/database/pool/database.service';
import { JobStoreRepository } from '../../../src/database/installation/installation.repository';
import { type Core, startCore } from '../../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

describe('the store of jobs', () => {
  let db: TestDatabase;
  let core: Core;
  let one: JobStoreRepository;
  let other: JobStoreRepository;
  beforeAll(async () => {
    db = await createTestDatabase();
    core = await startCore(db.url);
    one = new JobStoreRepository(core.get(Database));
    other = new JobStoreRepository(core.get(Database));
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  it('returns the due jobs whose condition is true, and evaluates no other condition', async () => {
    const now = new Date('2026-01-02T00:00:00Z');
    const conditions = [
      { name: 'before', hasWork: "$1 > timestamptz '2026-01-01T00:00:00Z'" },
      { name: 'never', hasWork: 'exists (select from job_leases where job is null)' },
      { name: 'always', hasWork: 'true or false' },
      { name: 'broken', hasWork: '1 / (length($1::text) - length($1::text)) > 0' },
    ];
    const all = ['before', 'never', 'always'];
    expect(await one.findWork(conditions, all, now)).toEqual(new Set(['before', 'always']));
    expect(await one.findWork(conditions, ['never', 'always'], now)).toEqual(new Set(['always']));
    await expect(one.findWork(conditions, [...all, 'broken'], now)).rejects.toThrow('division by zero');
    expect(await one.findWork(conditions.slice(1, 2), all, now)).toEqual(new Set());
  });

  it('takes a lock that a condition waits for in vain for no outage: other jobs run on', async () => {
    await one.take('locked', 60);
    const locked = {
      name: 'locked',
      hasWork: "exists (select from job_leases where job = 'locked' for update nowait)",
    };
    await core.get(Database).transaction(async (tx) => {
      await tx.run({ name: 'hold', text: "select from job_leases where job = 'locked' for update", values: [] });
      const failure = await one.findWork([locked], ['locked'], new Date()).catch((error: unknown) => error);
      expect(failure).toMatchObject({ message: expect.stringContaining('could not obtain lock') });
      expect(failure).not.toBeInstanceOf(UnavailableError);
    });
  });

  it('lets a lease be held by one process at a time, which may renew it', async () => {
    expect(await Promise.all([one.take('a', 60), other.take('a', 60)])).toEqual(expect.arrayContaining([true, false]));
    expect(await one.take('b', 60)).toBe(true);
    expect(await other.take('b', 60)).toBe(false);
    expect(await one.take('b', 60)).toBe(true);
  });

  it("ends a lease at its length after the database's clock was set back, unless its holder renews it", async () => {
    await one.take('d', 60);
    const dataSource = core.get(DataSource);
    await dataSource.query(`update job_leases set held_until = held_until + interval '5 days' where job = 'd'`);
    expect(await other.take('d', 60)).toBe(false);
    const [lease] = await dataSource.query<{ isShort: boolean }[]>(
      `select held_until <= clock_timestamp() + interval '60 seconds' as "isShort" from job_leases where job = 'd'`,
    );
    expect(lease).toEqual({ isShort: true });
    expect([await one.take('d', 60), await other.take('d', 60)]).toEqual([true, false]);
  });

  it('frees a lease once it has been released or has expired, by its holder only', async () => {
    await one.take('c', 60);
    await other.release('c');
    expect(await other.take('c', 60)).toBe(false);
    await one.release('c');
    expect(await other.take('c', -1)).toBe(true);
    expect(await one.take('c', 60)).toBe(true);
  });
});
