import { randomBytes } from 'node:crypto';
import { HOUR, MINUTE } from '../../../src/common/clock';
import { InstallationGauges } from '../../../src/common/jobs/installation-gauges';
import { JobLeases } from '../../../src/common/jobs/periodic-jobs';
import { Metrics } from '../../../src/common/metrics/metrics';
import { ProcessingMetrics } from '../../../src/modules/inbound-reports/processing/processing.metrics';
import { InboundReportsRepository } from '../../../src/modules/inbound-reports/queue/inbound-reports.repository';
import { ReportExaminer } from '../../../src/modules/inbound-reports/processing/report-examiner.service';
import { waitFor } from '../../setup/wait-for';
import { HARD_BOUNCE_REPORT, SOFT_BOUNCE_REPORT } from '../../factories/report-messages';
import { readCounters } from '../../factories/stored-email';
import { MAIL_HOST, ReportScene } from './report-scene';

const NO_HOP = 9;

describe('working off reports', () => {
  let scene: ReportScene;
  beforeAll(async () => {
    scene = await ReportScene.open();
  });
  afterEach(async () => {
    await scene.delivery.db.query(
      'delete from inbound_reports; delete from feedback_reports; delete from suppressions',
    );
  });
  afterAll(() => scene.close());

  const rows = () =>
    scene.delivery.db.query<{ disposition: string | null; attempts: number; processed_at: Date | null }>(
      'select disposition, attempts, processed_at from inbound_reports order by id',
    );
  const dispositions = async () => (await rows()).map(({ disposition }) => disposition);

  /** Posts bounces of so many new mails; returns the mails. */
  async function bounces(count: number, message = SOFT_BOUNCE_REPORT): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const id = await scene.delivery.accept({ to: [`${randomBytes(6).toString('hex')}@x.example`] });
      expect(await scene.post(message, await scene.returnPathOf(id))).toMatch(/^250 /);
      ids.push(id);
    }
    return ids;
  }

  it('is shared by workers, each report once', async () => {
    const other = await scene.delivery.startWorker({ hopPort: NO_HOP, isRunning: false });
    const { organizationId } = scene.delivery.tenant;
    const bounced = async () => (await readCounters(scene.delivery.db, organizationId)).bounced ?? 0;
    const before = await bounced();
    const ids = await bounces(25);
    await Promise.all([scene.workOff(), scene.workOff(other), scene.workOff()]);
    expect(await rows()).toEqual(
      ids.map(() => ({ disposition: 'soft_bounce', attempts: 1, processed_at: scene.clock.now() })),
    );
    expect(await bounced()).toBe(before + 25);
    await other.close();
  });

  it('goes on where a worker that died has left it, once its claim has ended', async () => {
    const [id] = await bounces(1);
    const until = new Date(scene.clock.now().getTime() + MINUTE);
    await scene.delivery.db.query('update inbound_reports set attempts = 1, claimed_until = $1', [until]);
    await scene.workOff();
    expect(await dispositions()).toEqual([null]);
    scene.clock.advance(2 * MINUTE);
    await scene.workOff();
    expect(await rows()).toMatchObject([{ disposition: 'soft_bounce', attempts: 2 }]);
    expect(await scene.reportedEvents(id!)).toEqual(['soft_bounce']);
  });

  it('goes on where a worker that died had claimed reports before the clock was set back', async () => {
    const [id] = await bounces(1);
    const until = new Date(scene.clock.now().getTime() + HOUR);
    await scene.delivery.db.query('update inbound_reports set attempts = 1, claimed_until = $1', [until]);
    await scene.workOff();
    expect(await rows()).toMatchObject([{ disposition: 'soft_bounce', attempts: 2 }]);
    expect(await scene.reportedEvents(id!)).toEqual(['soft_bounce']);
  });

  it('processes reports that were stored before a worker ran', async () => {
    const [id] = await bounces(1, HARD_BOUNCE_REPORT);
    expect(await dispositions()).toEqual([null]);
    const worker = await scene.delivery.startWorker({ hopPort: NO_HOP });
    await waitFor(async () => (await dispositions())[0] === 'hard_bounce', { what: 'the report to be worked off' });
    expect(await scene.reportedEvents(id!)).toEqual(['hard_bounce']);
    await worker.close();
  });

  it('gives up a report that never ends, and holds up no other for it', async () => {
    const [poison, next] = await bounces(2);
    await scene.delivery.db.query('update inbound_reports set attempts = 5 where email_id = $1', [poison]);
    await scene.workOff();
    expect(await dispositions()).toEqual(['abandoned', 'soft_bounce']);
    expect(await scene.reportedEvents(poison!)).toEqual([]);
    expect(await scene.reportedEvents(next!)).toEqual(['soft_bounce']);
  });

  it('records nothing of a report whose end cannot be stored, and tries again', async () => {
    const { db } = scene.delivery;
    const [bad, next] = await bounces(2);
    await db.query(`alter table email_events add constraint broken check (email_id <> '${bad}') not valid`);
    await scene.workOff();
    expect(await dispositions()).toEqual([null, 'soft_bounce']);
    await db.query('alter table email_events drop constraint broken');
    scene.clock.advance(3 * MINUTE);
    await scene.workOff();
    expect(await dispositions()).toEqual(['soft_bounce', 'soft_bounce']);
    for (const id of [bad!, next!]) expect(await scene.reportedEvents(id)).toEqual(['soft_bounce']);
  });

  it('is not held up by bytes that cannot be read', async () => {
    const id = await scene.delivery.accept();
    const path = await scene.returnPathOf(id);
    const nested = Array.from({ length: 200 }, (_each, depth) => {
      return `Content-Type: multipart/mixed; boundary=b${depth}\r\n\r\n--b${depth}\r\n`;
    });
    for (const message of ['\0\xff\0', nested.join(''), 'no header', ':'.repeat(5_000)]) {
      await scene.post(message, path);
    }
    await scene.workOff();
    expect(await dispositions()).toHaveLength(4);
    for (const disposition of await dispositions()) expect(disposition).toMatch(/^ignored:/);
  });

  it.each([
    ['smaller', '00000000-0000-7000-8000-000000000000'],
    ['greater', 'ffffffff-ffff-7fff-bfff-ffffffffffff'],
  ])('takes turns among organizations, also beside a flood for one with a %s id', async (_what, noisy) => {
    await scene.delivery.db.query(
      `insert into inbound_reports (organization_id, mode, email_id, position, digest, id, raw)
       select $1, 'live', gen_random_uuid(), 0, sha256(n::text::bytea),
         ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'x'
       from generate_series(1, 600) n`,
      [noisy],
    );
    const [id] = await bounces(1);
    const examine = jest.spyOn(scene.worker.get(ReportExaminer), 'examine');
    await scene.workOff();
    const turn = examine.mock.calls.findIndex(([report]) => report.subject?.emailId === id);
    examine.mockRestore();
    expect(turn).toBeGreaterThanOrEqual(0);
    expect(turn).toBeLessThan(10);
  });

  it('is measured', async () => {
    const metrics = new Metrics();
    const { worker, clock } = scene;
    const gauges = new InstallationGauges(worker.get(JobLeases), metrics, clock, true);
    new ProcessingMetrics(worker.get(InboundReportsRepository), gauges, metrics, clock).onModuleInit();
    const waiting = async () => {
      scene.clock.advance(MINUTE);
      const text = await metrics.registry.metrics();
      return ['open_reports', 'oldest_report_seconds'].map((name) => {
        return Number(new RegExp(`^waybill_inbound_${name} (\\d+)$`, 'm').exec(text)?.[1]);
      });
    };
    const counted = () => scene.count('inbound_processed_total{disposition="soft_bounce"}');
    const before = await counted();
    await bounces(2);
    await scene.post('Subject: x\r\n\r\nx', `fbl@${MAIL_HOST}`);
    expect(await waiting()).toEqual([3, 60]);
    await scene.workOff();
    expect(await waiting()).toEqual([0, 0]);
    await gauges.onModuleDestroy();
    expect(await counted()).toBe(before + 2);
  });
});
