import { AuditService, OPERATOR } from '../../../src/audit/audit.service';
import { AuditRetentionJob } from '../../../src/audit/audit-retention.job';
import { DAY, HOUR } from '../../../src/common/clock';
import { Metrics } from '../../../src/common/metrics/metrics';
import { AcceptRetentionJob, PartitionsJob } from '../../../src/modules/emails/retention/retention.job';
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
