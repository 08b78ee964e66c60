import { DAY, HOUR } from '../../../src/common/clock';
import { timeOfId } from '../../../src/common/ids';
import { Metrics } from '../../../src/common/metrics/metrics';
import { StatsCheckJob } from '../../../src/modules/emails/outcomes/stats-check.job';
import { StatsCheckService } from '../../../src/modules/emails/outcomes/stats-check.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { FakeClock } from '../../doubles/fake-clock';
import { recordedOutcome } from '../../factories/outcomes';
import { DeliveryScene } from '../../setup/delivery-scene';
import type { Core } from '../../setup/core-context';
import { runWith } from '../cli/cli-kit';

/** In the night after the mail, whose day is the last complete one. */
const clock = new FakeClock();
let period: { from: Date; to: Date };

let scene: DeliveryScene;
let worker: Core;
let other: Core;
beforeAll(async () => {
  scene = await DeliveryScene.open();
  const id = await scene.accept({ to: ['a@x.example', 'b@x.example'] });
  const occurredAt = timeOfId(id);
  const from = new Date(Math.floor(occurredAt.getTime() / DAY) * DAY);
  period = { from, to: new Date(from.getTime() + DAY) };
  clock.set(new Date(period.to.getTime() + HOUR));
  worker = await scene.startWorker({ clock, hopPort: 9, isRunning: false });
  other = await scene.startWorker({ clock, hopPort: 9, isRunning: false });
  const outcomes = [0, 1].map((position) =>
    recordedOutcome(scene.tenant, id, { kind: 'delivered' }, { position, occurredAt }),
  );
  await scene.db.database.transaction((tx) => worker.get(OutcomeRecorder).record(outcomes, tx));
  await worker.get(StatsService).fold();
});
beforeEach(async () => {
  await scene.db.query('delete from stats_checks');
  await scene.db.query('update stats_hourly set delivered = 2 where organization_id = $1', [
    scene.tenant.organizationId,
  ]);
});
afterAll(() => scene.close());

const spoil = () =>
  scene.db.query('update stats_hourly set delivered = 7 where organization_id = $1', [scene.tenant.organizationId]);
const driftMetric = async () => /^waybill_stats_drift (\S+)$/m.exec(await worker.get(Metrics).registry.metrics())?.[1];

describe('the check of the statistics', () => {
  it('finds differences, and only these', async () => {
    expect(await worker.get(StatsCheckService).check(period)).toEqual({ compared: 4, unsettled: 0, drifts: [] });
    await spoil();
    const { drifts } = await worker.get(StatsCheckService).check(period, scene.tenant.organizationId);
    const hour = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/);
    const { organizationId, domainId } = scene.tenant;
    expect(drifts).toEqual([
      { organizationId, mode: 'live', domainId, hour, counter: 'delivered', stored: 7, counted: 2 },
    ]);
  });

  it('is done once a day, in one of the processes', async () => {
    const check = jest.spyOn(worker.get(StatsCheckService), 'check');
    const another = jest.spyOn(other.get(StatsCheckService), 'check');
    await Promise.all([worker.get(StatsCheckJob).run(), other.get(StatsCheckJob).run()]);
    await worker.get(StatsCheckJob).run();
    expect(check.mock.calls.length + another.mock.calls.length).toBe(1);
    expect([...check.mock.calls, ...another.mock.calls]).toEqual([[period]]);
    expect(await scene.db.query('select day::text, drift from stats_checks')).toEqual([
      { day: period.from.toISOString().slice(0, 10), drift: 0 },
    ]);
    jest.restoreAllMocks();
  });

  it('is taken over when its process has died', async () => {
    const day = period.from.toISOString().slice(0, 10);
    const claimed = (hoursAgo: number) =>
      scene.db.query(
        `insert into stats_checks (day, claimed_at) values ($1, $2)
         on conflict (day) do update set claimed_at = excluded.claimed_at`,
        [day, new Date(clock.now().getTime() - hoursAgo * HOUR)],
      );
    const isFinished = async () =>
      (await scene.db.query('select 1 from stats_checks where finished_at is not null')).length === 1;
    await claimed(5);
    await worker.get(StatsCheckJob).run();
    expect(await isFinished()).toBe(false);
    await claimed(7);
    await worker.get(StatsCheckJob).run();
    expect(await isFinished()).toBe(true);
  });

  it('reports its findings to the monitoring', async () => {
    worker.get(StatsCheckJob).registerMetric();
    expect(await driftMetric()).toBeUndefined();
    await spoil();
    await other.get(StatsCheckJob).run();
    expect(await driftMetric()).toBe('1');
  });
});

describe('waybill stats verify', () => {
  const environment = () => ({ DATABASE_URL: scene.db.url, MASTER_KEY: Buffer.alloc(32, 7).toString('base64') });
  const range = () => ['--from', period.from.toISOString(), '--to', period.to.toISOString()];
  const verify = (...args: string[]) => runWith(environment(), ['stats', 'verify', ...args]);

  it('says that nothing differs', async () => {
    const { exitCode, stdout } = await verify('--json', ...range());
    expect([exitCode, JSON.parse(stdout)]).toEqual([
      0,
      { from: period.from.toISOString(), to: period.to.toISOString(), compared: 4, unsettled: 0, drift: 0, drifts: [] },
    ]);
    expect((await verify('--org', scene.tenant.organizationId)).stdout).toMatch(/^drift +0$/m);
  });

  it('fails, and shows each counter that differs', async () => {
    await spoil();
    const shown = await verify(...range());
    expect(shown).toMatchObject({ exitCode: 1, stderr: 'waybill: 1 counters differ from the events\n' });
    expect(shown.stdout).toMatch(/delivered +7 +2/);
    const { stdout, stderr } = await verify('--json', ...range());
    expect(stdout).toBe('');
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'unhealthy',
      details: { drift: 1, drifts: [{ counter: 'delivered', stored: 7, counted: 2 }] },
    });
  });

  it.each([
    [['--from', '2026-05-01T10:30:00Z'], 'full UTC hour'],
    [['--from', 'yesterday'], 'full UTC hour'],
    [['--from', '2026-05-02', '--to', '2026-05-02'], '--to must be after --from'],
    [['--from', '2026-05-02', '--to', '2026-06-03'], 'at most 31 days'],
    [['--org', 'acme'], 'UUID'],
  ])('refuses %j', async (args, message) => {
    const { exitCode, stderr } = await verify(...args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(message);
  });
});
