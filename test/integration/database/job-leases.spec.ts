import { Database } from '../../../src/database/database.service';
import { JobLeasesRepository } from '../../../src/database/background-jobs.repository';
import { type Core, startCore } from '../../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

describe('the lease of a job', () => {
  let db: TestDatabase;
  let core: Core;
  let one: JobLeasesRepository;
  let other: JobLeasesRepository;
  beforeAll(async () => {
    db = await createTestDatabase();
    core = await startCore(db.url);
    one = new JobLeasesRepository(core.get(Database));
    other = new JobLeasesRepository(core.get(Database));
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  it('is held by one process at a time, which may renew it', async () => {
    expect(await Promise.all([one.take('a', 60), other.take('a', 60)])).toEqual(expect.arrayContaining([true, false]));
    expect(await one.take('b', 60)).toBe(true);
    expect(await other.take('b', 60)).toBe(false);
    expect(await one.take('b', 60)).toBe(true);
  });

  it('is free once it has been released or has expired, and is released by its holder only', async () => {
    await one.take('c', 60);
    await other.release('c');
    expect(await other.take('c', 60)).toBe(false);
    await one.release('c');
    expect(await other.take('c', -1)).toBe(true);
    expect(await one.take('c', 60)).toBe(true);
  });
});
