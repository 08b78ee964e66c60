import { DAY, HOUR, MINUTE } from '../../../src/common/clock';
import { WarmUpChangesService } from '../../../src/modules/domains/restrictions/warm-up.service';
import { WarmUpJob } from '../../../src/modules/domains/restrictions/warm-up.job';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { FakeClock } from '../../doubles/fake-clock';
import { sendBody } from '../../factories/send-requests';
import { createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { type Counted, readDomain, readHistory, recordCounts } from './limits-scene';

const RELAY = { DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://127.0.0.1:2525' };
const START = '2026-01-10T12:10:00.000Z';

describe('watching warm-ups', () => {
  const clock = new FakeClock(START);
  let db: OpenTestDatabase;
  let core: Core;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 3 });
    core = await startCore(db.url, { clock, env: RELAY });
  });
  beforeEach(async () => {
    clock.set(START);
    tenant = await createTenant(db);
    await put('warming', 5);
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  const put = (status: string, startedDaysAgo: number) =>
    db.query('update domains set warming_status = $1, warming_started_at = $2 where id = $3', [
      status,
      new Date(clock.now().getTime() - startedDaysAgo * DAY),
      tenant.domainId,
    ]);
  const count = (counts: Counted, mode?: 'live' | 'test') =>
    recordCounts(core, tenant, counts, { occurredAt: clock.now(), mode });
  const watch = () => core.get(WarmUpJob).run();
  const domain = () => readDomain(db, tenant.domainId);
  const history = () => readHistory(core, tenant);
  const send = () => core.get(SendEmailsService).sendOne(sendBody(), undefined, tenant.as('live'));

  it('goes on with the others when one domain cannot be changed', async () => {
    const stuck = tenant.domainId;
    await count({ accepted: 200, bounced: 11 });
    tenant = await createTenant(db);
    await put('warming', 5);
    await count({ accepted: 200, bounced: 11 });
    await db.query(
      `alter table domains add constraint broken check (id <> '${stuck}' or warming_status = 'warming') not valid`,
    );
    try {
      await watch();
    } finally {
      await db.query('alter table domains drop constraint broken');
    }
    expect((await readDomain(db, stuck)).warming_status).toBe('warming');
    expect((await domain()).warming_status).toBe('paused');
  });

  it.each([
    ['bounces' as const, { accepted: 200, bounced: 11 }],
    ['complaints' as const, { accepted: 200, complaints: 1 }],
  ])('pauses a domain for its %s at once, and reports it', async (reason, counts) => {
    await send();
    await count(counts);
    await watch();
    expect(await domain()).toMatchObject({
      ...{ warming_status: 'paused', warming_pause_reason: reason, warming_paused_at: clock.now() },
    });
    const data = { reason, recipients: 201, bounced: 0, complaints: 0, ...counts } as Record<string, unknown>;
    delete data.accepted;
    const entry = { actor: 'system', action: 'domain.warming_paused', targetId: tenant.domainId, data };
    expect(await history()).toEqual([entry]);
    await expect(send()).rejects.toMatchObject({
      code: 'sending_limit_exceeded',
      details: { limit: 0, used: 1, requested: 1, reason: 'warming_paused' },
      suggestion: expect.stringContaining('a day after the pause'),
      retryAfterSeconds: 24 * 3_600,
    });
  });

  it('sees what is folded and what is not, once each', async () => {
    await count({ accepted: 100, bounced: 3 });
    await core.get(StatsService).fold();
    await count({ bounced: 2 });
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'warming' });
    await count({ bounced: 1 });
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'paused' });
  });

  it('leaves a domain alone for few recipients, for what is older than a day, and for test mail', async () => {
    await count({ accepted: 99, bounced: 99 });
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'warming' });
    clock.advance(DAY);
    await count({ accepted: 1 });
    await count({ accepted: 1_000, bounced: 1_000 }, 'test');
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'warming' });
    expect(await history()).toEqual([]);
  });

  it('evaluates only domains in their warm-up', async () => {
    await count({ accepted: 1_000, bounced: 1_000 });
    for (const status of ['not_started', 'warmed']) {
      await put(status, 5);
      await watch();
      expect(await domain()).toMatchObject({ warming_status: status });
    }
  });

  it('resumes a domain a day after the pause', async () => {
    await count({ accepted: 200, bounced: 100 });
    await watch();
    clock.advance(DAY - MINUTE);
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'paused' });
    clock.advance(MINUTE);
    await watch();
    expect(await domain()).toMatchObject({
      ...{ warming_status: 'warming', warming_paused_at: null, warming_pause_reason: null },
    });
    await expect(send()).resolves.toMatchObject({ replayed: false });
    expect(await history()).toMatchObject([
      { action: 'domain.warming_paused' },
      { actor: 'system', action: 'domain.warming_resumed' },
    ]);
  });

  it('does not hold the past against a domain that the operator has resumed', async () => {
    await count({ accepted: 200, bounced: 100 });
    await watch();
    await core.get(WarmUpChangesService).byOperator(tenant.domainId, 'resume');
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'warming' });
    clock.advance(HOUR);
    await count({ accepted: 200, bounced: 100 });
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'paused' });
    expect((await history()).map(({ actor, action }) => [actor, action])).toEqual([
      ['system', 'domain.warming_paused'],
      ['operator', 'domain.warming_resumed'],
      ['system', 'domain.warming_paused'],
    ]);
  });

  it('ends the warm-up after its last day', async () => {
    await put('warming', 33);
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'warming' });
    await put('warming', 34);
    await watch();
    expect(await domain()).toMatchObject({ warming_status: 'warmed' });
    expect(await history()).toMatchObject([{ actor: 'system', action: 'domain.warmed' }]);
  });

  it('does each thing once, however many processes watch', async () => {
    const others = await Promise.all(Array.from({ length: 3 }, () => startCore(db.url, { clock, env: RELAY })));
    await count({ accepted: 200, bounced: 100 });
    await Promise.all([core, ...others].map((process) => process.get(WarmUpJob).run()));
    expect(await history()).toHaveLength(1);
    await Promise.all(others.map((process) => process.close()));
  });

  it('goes through more domains than one batch holds', async () => {
    await db.query(
      `insert into domains (organization_id, id, domain, verification_token, warming_status, warming_started_at)
       select $1, gen_random_uuid(), 'n' || n || $2, 'token', 'warming', $3 from generate_series(1, 1200) n`,
      [tenant.organizationId, tenant.domain, new Date(clock.now().getTime() - 40 * DAY)],
    );
    await watch();
    const rows = await db.query(
      `select warming_status as status, count(*)::int from domains where organization_id = $1 group by 1 order by 1`,
      [tenant.organizationId],
    );
    expect(rows).toEqual([
      { status: 'warmed', count: 1_200 },
      { status: 'warming', count: 1 },
    ]);
  });

  it('forgets the counts of days gone by', async () => {
    await send();
    clock.advance(DAY);
    await send();
    await watch();
    const days = () =>
      db.query('select day::text from warm_up_usage where domain_id = $1 order by day', [tenant.domainId]);
    expect(await days()).toEqual([{ day: '2026-01-10' }, { day: '2026-01-11' }]);
    clock.advance(DAY);
    await watch();
    expect(await days()).toEqual([{ day: '2026-01-11' }]);
  });

  it('does nothing when the warm-up is switched off', async () => {
    await count({ accepted: 200, bounced: 100 });
    const other = await startCore(db.url, { clock, env: { ...RELAY, WARMUP_ENABLED: 'false' } });
    await other.get(WarmUpJob).run();
    expect(await domain()).toMatchObject({ warming_status: 'warming' });
    await other.close();
  });
});
