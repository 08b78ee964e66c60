import { DAY, HOUR } from '../../../src/common/clock';
import type { Mode } from '../../../src/common/tenant';
import { ReputationJob } from '../../../src/modules/domains/restrictions/restrictions.job';
import { RestrictionsRepository } from '../../../src/modules/domains/restrictions/restrictions.repository';
import { type Counter, StatsService } from '../../../src/modules/stats/stats.service';
import { FakeClock } from '../../doubles/fake-clock';
import { createTenant, type Tenant } from '../../factories/tenants';
import type { Core } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { startWorker } from '../../setup/worker-context';

describe('reputation scores', () => {
  const clock = new FakeClock('2026-03-10T12:10:00.000Z');
  let db: OpenTestDatabase;
  let worker: Core;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    worker = await startWorker(db.url, { clock, hopPort: 9, isRunning: false });
  });
  beforeEach(async () => {
    await db.query('delete from domains');
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await worker.close();
    await db.drop();
  });

  const count = (
    { organizationId, domainId }: Tenant,
    counts: Partial<Record<Counter, number>>,
    { ago = 0, mode = 'live' }: { ago?: number; mode?: Mode } = {},
  ) => {
    const occurredAt = new Date(clock.now().getTime() - ago);
    const deltas = Object.entries(counts).map(([counter, by]) => {
      return { organizationId, domainId, mode, occurredAt, counter: counter as Counter, by };
    });
    return db.database.transaction((tx) => Promise.resolve(worker.get(StatsService).record(deltas, tx)));
  };
  const refresh = () => worker.get(ReputationJob).run();
  const scoreOf = async ({ domainId }: Tenant) => {
    const [row] = await db.query<{ reputation_score: number | null }>(
      'select reputation_score from domains where id = $1',
      [domainId],
    );
    return row?.reputation_score;
  };

  it('come from the live mail of the last 30 days, domain by domain', async () => {
    const other = await createTenant(db);
    await count(tenant, { accepted: 1_000, delivered: 960, bounced: 30 }, { ago: 29 * DAY });
    await worker.get(StatsService).fold();
    await count(tenant, { bounced: 30 });
    await count(tenant, { bounced: 500, accepted: 10 }, { ago: 30 * DAY + HOUR });
    await count(tenant, { bounced: 500, accepted: 10 }, { mode: 'test' });
    expect(await scoreOf(tenant)).toBeNull();
    expect(await refresh()).toBe(2);
    expect(await scoreOf(tenant)).toBe(80);
    expect(await scoreOf(other)).toBe(100);
  });

  it('are written only where they change', async () => {
    const other = await createTenant(db);
    await refresh();
    expect(await refresh()).toBe(0);
    await count(other, { accepted: 100, delivered: 100, complaints: 1 });
    const versions = () => db.query('select id, xmin::text from domains where id = $1', [tenant.domainId]);
    const before = await versions();
    expect(await refresh()).toBe(1);
    expect(await versions()).toEqual(before);
    expect(await scoreOf(other)).toBe(50);
  });

  it('reach every domain, by several processes at once too', async () => {
    await db.query(
      `insert into domains (organization_id, id, domain, verification_token)
       select gen_random_uuid(), gen_random_uuid(), 'n' || n || '.example', 'token' from generate_series(1, 1200) n`,
    );
    const changed = await Promise.all([refresh(), refresh(), refresh()]);
    expect(changed.reduce((sum, each) => sum + each, 0)).toBe(1_201);
    const [row] = await db.query('select count(*)::int from domains where reputation_score = 100');
    expect(row).toEqual({ count: 1_201 });
  });

  it('come with rates and recommendations', async () => {
    await count(tenant, { accepted: 100, delivered: 90, bounced: 10 });
    const reputations = await worker.get(StatsService).reputationsOf([tenant]);
    expect(reputations.get(tenant.domainId)).toMatchObject({
      ...{ overallScore: 55, bounceRate: 0.1, deliveryRate: 0.9, complaintRate: 0, healthStatus: 'fair' },
      recommendations: [expect.stringContaining('10 % of the recipients'), expect.stringContaining('Only 90 %')],
    });
  });

  it('have an order in which domains are gone through', async () => {
    const scores = worker.get(RestrictionsRepository);
    const first = await scores.findKeys(undefined, 1);
    expect(first).toEqual([{ organizationId: tenant.organizationId, domainId: tenant.domainId }]);
    expect(await scores.findKeys(first[0], 1)).toEqual([]);
  });
});
