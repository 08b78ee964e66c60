import { AuditService, OPERATOR } from '../../../src/audit/audit.service';
import { AuditRetentionJob } from '../../../src/audit/audit-retention.job';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { OperatorKeysService } from '../../../src/auth/keys/operator-keys.service';
import { SessionKeysJob } from '../../../src/auth/keys/session-keys.job';
import { DAY, HOUR } from '../../../src/common/clock';
import { Metrics } from '../../../src/common/metrics/metrics';
import { monthOf } from '../../../src/modules/emails/retention/months';
import { AcceptRetentionJob, PartitionsJob } from '../../../src/modules/emails/retention/retention.job';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { waitFor } from '../../setup/wait-for';
import { RetentionScene } from './retention-scene';

describe('the retention of other data', () => {
  let scene: RetentionScene;
  beforeEach(async () => (scene = await RetentionScene.open({ RETENTION_IDEMPOTENCY_HOURS: '48' })));
  afterEach(() => scene.close());

  it('of the audit log ends after two years, also in two processes at once; until then nothing changes it', async () => {
    const { organizationId } = scene.mail.tenant;
    const audit = scene.mail.core.get(AuditService);
    scene.clock.set('2024-03-31T12:00:00Z');
    const record = (action: string) =>
      scene.database.transaction((tx) =>
        audit.record([{ organizationId, actor: OPERATOR, action, targetType: 'key', targetId: 'k' }], tx),
      );
    await record('old');
    scene.clock.advance(DAY);
    await record('young');
    await expect(scene.db.query(`update audit_log set actor = 'x'`)).rejects.toThrow('append-only');
    const remove = (worker = scene.worker) => worker.get(AuditRetentionJob).removeOld();
    scene.clock.set('2026-03-31T12:00:00Z');
    expect(await remove()).toBe(0);
    scene.clock.advance(1);
    const removed = await Promise.all([remove(), remove(await scene.startOtherWorker())]);
    expect(removed[0] + removed[1]).toBe(1);
    const left = await scene.db.query(`select action from audit_log where action in ('old', 'young')`);
    expect(left).toEqual([{ action: 'young' }]);
  });

  it('of keys that sign-in links made for one session ends a month after the session; other keys stay', async () => {
    const { organizationId } = scene.mail.tenant;
    const expiresAt = new Date(scene.clock.now().getTime() + 12 * HOUR);
    const ended = { name: 'ended', expiresAt };
    const keys = scene.worker.get(ApiKeysService);
    const ofTenant = { ...ended, mode: 'live' as const, scopes: ['email:read' as const] };
    for (const sessionOnly of [true, false]) {
      await keys.create(organizationId, { ...ofTenant, sessionOnly });
      await scene.worker.get(OperatorKeysService).create({ ...ended, scopes: ['operator:read'], sessionOnly });
    }
    const remove = () => scene.worker.get(SessionKeysJob).removeEnded();
    scene.clock.set(new Date(expiresAt.getTime() + 30 * DAY).toISOString());
    expect(await remove()).toBe(0);
    scene.clock.advance(1);
    expect(await remove()).toBe(2);
    for (const table of ['api_keys', 'operator_keys']) {
      const left = await scene.db.query(`select session_only from ${table} where name = 'ended'`);
      expect(left).toEqual([{ session_only: false }]);
    }
  });

  it('of idempotency keys is the operator’s choice', async () => {
    await scene.mail.accept({ idempotencyKey: 'k' });
    const expire = () => scene.worker.get(AcceptRetentionJob).expireKeys();
    scene.clock.advance(48 * HOUR);
    expect(await expire()).toBe(0);
    scene.clock.advance(1);
    expect(await expire()).toBe(1);
  });

  it('of the use of test mode is a matter of days; what has been used in all stays', async () => {
    await scene.mail.accept({}, 'test');
    const forget = () => scene.worker.get(AcceptRetentionJob).removeTestUsage();
    expect(await forget()).toBe(0);
    scene.clock.advance(3 * DAY);
    expect(await forget()).toBe(1);
    expect(await scene.db.query('select day::text, recipients from test_usage')).toEqual([
      { day: '1970-01-01', recipients: 1 },
    ]);
  });

  it('of the use of a month ends two months later, and of what was sent in a minute after an hour', async () => {
    const { organizationId } = scene.mail.tenant;
    const month = (later: number) => monthOf(scene.clock.now(), later).toISOString().slice(0, 10);
    const months = [month(-3), month(-1), month(0)];
    await scene.db.query(
      'insert into monthly_usage (organization_id, month, recipients, counted_at) select $1, unnest($2::date[]), 1, now()',
      [organizationId, months],
    );
    const forget = () => scene.worker.get(AcceptRetentionJob).removeMonthlyUsage();
    expect([await forget(), await forget()]).toEqual([1, 0]);
    const left = await scene.db.query('select month::text from monthly_usage order by month');
    expect(left).toEqual(months.slice(1).map((kept) => ({ month: kept })));

    await scene.db.query(`insert into sending_rates (at, accepted, delivered, deferred, bounced)
      select now() - make_interval(mins => age), age, 0, 0, 0 from unnest('{0,59,61,600}'::int[]) as ages (age)`);
    expect(await scene.worker.get(StatsService).deleteOldRates()).toBe(2);
    expect(await scene.db.query('select accepted::int as age from sending_rates order by 1')).toEqual([
      { age: 0 },
      { age: 59 },
    ]);
  });

  it('runs by itself in every worker, and is seen in the metrics', async () => {
    await scene.worker.start();
    await scene.worker.get(PartitionsJob).createPartitions();
    const { registry } = scene.worker.get(Metrics);
    const text = await waitFor(
      async () => {
        const text = await registry.metrics();
        return text.includes('waybill_partitions_ahead 3') && text;
      },
      { what: 'the metrics' },
    );
    expect(text).toContain('waybill_default_partition_rows{table="emails"} 0');
    expect(text).toMatch(/waybill_queue_dead_rows \d/);
    expect(text).toMatch(/waybill_queue_table_bytes [1-9]/);
  });
});
