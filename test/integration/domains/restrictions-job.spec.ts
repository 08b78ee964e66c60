import { DAY, HOUR, MINUTE } from '../../../src/common/clock';
import { Database } from '../../../src/database/pool/database.service';
import { RestrictionsService } from '../../../src/modules/domains/restrictions/restrictions.service';
import { RestrictionsJob } from '../../../src/modules/domains/restrictions/restrictions.job';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { recordedOutcome } from '../../factories/outcomes';
import { sendBody } from '../../factories/send-requests';
import { addDomain, createTenant } from '../../factories/tenants';
import { startCore } from '../../setup/core-context';
import { type Counted, limitsScene, readDomain, readHistory, recordCounts } from './limits-scene';

const RELAY = { DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://127.0.0.1:2525' };
const START = '2026-01-10T12:10:00.000Z';

describe('the job of restrictions', () => {
  const scene = limitsScene(START, RELAY);
  beforeEach(() => markWarmed());

  const markWarmed = () =>
    scene.db.query("update domains set warming_status = 'warmed' where organization_id = $1", [
      scene.tenant.organizationId,
    ]);
  const count = (
    counts: Counted,
    { domainId = scene.tenant.domainId, mode }: { domainId?: string; mode?: 'test' } = {},
  ) => recordCounts(scene.core, { ...scene.tenant, domainId }, counts, { occurredAt: scene.clock.now(), mode });
  const watch = () => scene.core.get(RestrictionsJob).run();
  const status = async (domainId = scene.tenant.domainId) => (await readDomain(scene.db, domainId)).sending_status;
  const actions = async () =>
    (await readHistory(scene.core, scene.tenant)).map(({ actor, action }) => `${actor} ${action}`);
  /** As if a minute were all that it takes. */
  const later = async (ms: number) => {
    scene.clock.advance(ms);
    await watch();
  };
  const slow = async () => {
    await count({ accepted: 1_000, bounced: 60 });
    await watch();
  };
  const pause = async () => {
    await count({ accepted: 1_000, bounced: 600 });
    await watch();
    await later(MINUTE);
  };

  it('says nothing about few recipients, and slows from a hundred on', async () => {
    await count({ accepted: 99, bounced: 99, complaints: 99 });
    await watch();
    expect(await status()).toBe('active');
    await count({ accepted: 1 });
    await watch();
    expect(await status()).toBe('slowed');
  });

  it.each([
    ['bounces' as const, { accepted: 1_000, bounced: 50 }, { bounced: 1 }],
    ['complaints' as const, { accepted: 1_000, complaints: 3 }, { complaints: 1 }],
  ])('slows a domain above the limit of %s, not at it, and says why', async (reason, atLimit, oneMore) => {
    const [counter = '', more = 0] = Object.entries(oneMore)[0] ?? [];
    await count(atLimit);
    await scene.core.get(StatsService).fold();
    await watch();
    expect(await status()).toBe('active');
    await count(oneMore);
    await watch();
    expect(await readDomain(scene.db, scene.tenant.domainId)).toMatchObject({
      ...{ sending_status: 'slowed', sending_status_reason: reason, sending_daily_limit: 100 },
      sending_status_since: scene.clock.now(),
    });
    const { accepted: recipients, ...trouble } = { bounced: 0, complaints: 0, ...atLimit } as Record<string, number>;
    const data = { reason, recipients, ...trouble, [counter]: (trouble[counter] ?? 0) + more, dailyLimit: 100 };
    expect(await readHistory(scene.core, scene.tenant)).toEqual([
      { actor: 'system', action: 'domain.sending_slowed', targetId: scene.tenant.domainId, data },
    ]);
  });

  it('leaves out bounces that say nothing of the sender', async () => {
    await count({ accepted: 1_000, bounced: 650, excused: 600 });
    await watch();
    await scene.core.get(StatsService).fold();
    await watch();
    expect(await status()).toBe('active');
    await count({ bounced: 1 });
    await watch();
    expect(await status()).toBe('slowed');
  });

  it('leaves other domains alone, in the same organization and in others', async () => {
    const sibling = await addDomain(scene.db, scene.tenant.organizationId);
    const outsider = await createTenant(scene.db);
    await markWarmed();
    await count({ accepted: 1_000, bounced: 20 }, { domainId: sibling });
    await pause();
    expect([await status(), await status(sibling), await status(outsider.domainId)]).toEqual([
      ...['paused', 'active', 'active'],
    ]);
  });

  it('counts no test mail, and nothing older than a day', async () => {
    await count({ accepted: 1_000, bounced: 1_000 }, { mode: 'test' });
    await watch();
    await count({ accepted: 1_000, bounced: 1_000 });
    await later(DAY);
    expect(await status()).toBe('active');
    expect(await actions()).toEqual([]);
  });

  it('leaves domains in their warm-up to that, unless it is switched off', async () => {
    await scene.db.query("update domains set warming_status = 'warming', warming_started_at = $1 where id = $2", [
      scene.clock.now(),
      scene.tenant.domainId,
    ]);
    await slow();
    expect(await status()).toBe('active');
    const other = await startCore(scene.db.url, { clock: scene.clock, env: { ...RELAY, WARMUP_ENABLED: 'false' } });
    await other.get(RestrictionsJob).run();
    expect(await status()).toBe('slowed');
    await other.close();
  });

  it('pauses a slowed domain with the next look above twice a limit', async () => {
    await pause();
    expect(await readDomain(scene.db, scene.tenant.domainId)).toMatchObject({
      ...{ sending_status: 'paused', sending_status_reason: 'bounces', sending_status_since: scene.clock.now() },
    });
    expect(await actions()).toEqual(['system domain.sending_slowed', 'system domain.sending_paused']);
  });

  it('pauses a slowed domain that goes on for an hour, not one that sends clean mail', async () => {
    await slow();
    scene.clock.advance(50 * MINUTE);
    await count({ accepted: 50 });
    await later(20 * MINUTE);
    expect(await status()).toBe('slowed');
    await count({ bounced: 5 });
    await watch();
    expect(await status()).toBe('paused');
  });

  it('resumes a slowed domain an hour after it has come below', async () => {
    await slow();
    await later(DAY - HOUR);
    expect(await status()).toBe('slowed');
    await later(HOUR);
    await later(HOUR - MINUTE);
    expect(await status()).toBe('slowed');
    await later(MINUTE);
    expect(await readDomain(scene.db, scene.tenant.domainId)).toMatchObject({
      ...{
        sending_status: 'active',
        sending_status_reason: null,
        sending_below_since: null,
        sending_daily_limit: null,
      },
    });
    expect(await actions()).toEqual(['system domain.sending_slowed', 'system domain.sending_resumed']);
  });

  it('pauses a slowed domain that had come below and does it again', async () => {
    await slow();
    await later(DAY);
    expect(await readDomain(scene.db, scene.tenant.domainId)).toMatchObject({ sending_below_since: scene.clock.now() });
    await count({ accepted: 1_000, bounced: 60 });
    await later(MINUTE);
    expect(await readDomain(scene.db, scene.tenant.domainId)).toMatchObject({
      ...{ sending_status: 'paused', sending_below_since: null },
    });
  });

  it('lets a paused domain send slowly a day later, and evaluates it again', async () => {
    await pause();
    await later(DAY - MINUTE);
    expect(await status()).toBe('paused');
    await count({ accepted: 1_000, bounced: 600 });
    await later(MINUTE);
    expect(await status()).toBe('slowed');
    await later(MINUTE);
    expect(await status()).toBe('slowed');
    scene.clock.advance(HOUR);
    await count({ accepted: 100, bounced: 60 });
    await watch();
    expect(await status()).toBe('paused');
  });

  it('resumes at the operator’s word, and evaluates it from then on', async () => {
    await pause();
    await scene.core.get(RestrictionsService).resumeByOperator(scene.tenant.domainId);
    await watch();
    expect(await status()).toBe('active');
    scene.clock.advance(HOUR);
    await count({ accepted: 100, bounced: 6 });
    await watch();
    expect(await status()).toBe('slowed');
  });

  it('never ends a pause of the operator', async () => {
    await scene.core.get(RestrictionsService).pauseByOperator(scene.tenant.domainId, 'phishing');
    await later(40 * DAY);
    expect(await status()).toBe('paused');
    expect(await actions()).toEqual(['operator domain.sending_paused']);
  });

  it('does each thing once, however many processes watch', async () => {
    const others = await Promise.all(
      Array.from({ length: 3 }, () => startCore(scene.db.url, { clock: scene.clock, env: RELAY })),
    );
    await count({ accepted: 200, bounced: 15 });
    await Promise.all([scene.core, ...others].map((process) => process.get(RestrictionsJob).run()));
    expect(await actions()).toEqual(['system domain.sending_slowed']);
    await Promise.all(others.map((process) => process.close()));
  });

  it('goes through more domains than one batch holds', async () => {
    await scene.db.query(
      `insert into domains (organization_id, id, domain, verification_token, warming_status)
       select $1, gen_random_uuid(), 'n' || n || $2, 'token', 'warmed' from generate_series(1, 600) n`,
      [scene.tenant.organizationId, scene.tenant.domain],
    );
    await scene.db.query(
      `insert into stats_hourly (organization_id, mode, domain_id, hour, accepted, bounced)
       select organization_id, 'live', id, $2, 100, 6 from domains where organization_id = $1`,
      [scene.tenant.organizationId, new Date('2026-01-10T12:00:00.000Z')],
    );
    await watch();
    await watch();
    const rows = await scene.db.query(
      'select sending_status as status, count(*)::int from domains where organization_id = $1 group by 1',
      [scene.tenant.organizationId],
    );
    expect(rows).toEqual([{ status: 'slowed', count: 601 }]);
  });

  it('evaluates the others when one domain cannot be changed', async () => {
    const other = await addDomain(scene.db, scene.tenant.organizationId);
    await scene.db.query("update domains set warming_status = 'warmed' where id = $1", [other]);
    const [first, second] = [scene.tenant.domainId, other].sort() as [string, string];
    for (const domainId of [first, second]) await count({ accepted: 1_000, bounced: 60 }, { domainId });
    await scene.db.query(
      `alter table domains add constraint broken check (id <> '${first}' or sending_status = 'active') not valid`,
    );
    try {
      await watch();
    } finally {
      await scene.db.query('alter table domains drop constraint broken');
    }
    expect([await status(first), await status(second)]).toEqual(['active', 'slowed']);
    await watch();
    expect(await status(first)).toBe('slowed');
  });

  it('learns of a complaint that is recorded', async () => {
    await count({ accepted: 100 });
    await watch();
    expect(await status()).toBe('active');
    const { accepted } = await scene.core
      .get(SendEmailsService)
      .sendOne(sendBody(), undefined, scene.tenant.as('live'));
    const tell = (kind: 'delivered' | 'spam_report') => {
      const outcome = recordedOutcome(scene.tenant, accepted.id, { kind }, { occurredAt: scene.clock.now() });
      return scene.core.get(Database).transaction((tx) => scene.core.get(OutcomeRecorder).record([outcome], tx));
    };
    await tell('delivered');
    await tell('spam_report');
    await watch();
    expect(await readDomain(scene.db, scene.tenant.domainId)).toMatchObject({
      ...{ sending_status: 'slowed', sending_status_reason: 'complaints' },
    });
  });
});
