import fc from 'fast-check';
import { DAY, HOUR } from '../../../src/common/clock';
import { StatsCheckService } from '../../../src/modules/emails/outcomes/stats-check.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { StatsRepository } from '../../../src/modules/stats/stats.repository';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { anyOutcome, EXCUSED_BOUNCE, recordedOutcome } from '../../factories/outcomes';
import { DeliveryScene } from '../../setup/delivery-scene';
import { startWorker } from '../../setup/worker-context';
import type { Core } from '../../setup/core-context';

let scene: DeliveryScene;
let worker: Core;
beforeAll(async () => {
  scene = await DeliveryScene.open();
  worker = await startWorker(scene.db.url, { hopPort: 9, isRunning: false });
});
afterAll(async () => {
  await worker.close();
  await scene.close();
});

const thisHour = Math.floor(Date.now() / HOUR) * HOUR;
const PERIOD = { from: new Date(thisHour - 3 * DAY), to: new Date(thisHour + 2 * HOUR) };
const fold = () => worker.get(StatsService).fold();
const check = () => worker.get(StatsCheckService).check(PERIOD);

type Happening = { email: number; position: number; outcome: Parameters<typeof recordedOutcome>[2]; hoursAgo: number };

const happening: fc.Arbitrary<Happening> = fc.record({
  email: fc.nat({ max: 1 }),
  position: fc.nat({ max: 2 }),
  outcome: fc.oneof({ weight: 9, arbitrary: anyOutcome }, { weight: 1, arbitrary: fc.constant(EXCUSED_BOUNCE) }),
  hoursAgo: fc.nat({ max: 70 }),
});
const history = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.array(happening, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.constant('fold' as const) },
  ),
  { minLength: 1, maxLength: 8 },
);

async function record(ids: readonly string[], list: readonly Happening[]): Promise<void> {
  const outcomes = list.map(({ email, position, outcome, hoursAgo }) =>
    recordedOutcome(scene.tenant, ids[email]!, outcome, {
      position,
      occurredAt: new Date(thisHour - hoursAgo * HOUR + 1),
    }),
  );
  await scene.db.database.transaction((tx) => worker.get(OutcomeRecorder).record(outcomes, tx));
}

const scope = () => ({ organizationId: scene.tenant.organizationId, mode: 'live' as const });

/** What is counted by group of receivers, in all. */
async function sumOfReceivers() {
  const groups = await worker.get(StatsRepository).sumByProvider(scope(), PERIOD);
  const sum = (counter: 'accepted' | 'delivered' | 'deferred' | 'bounced' | 'excused' | 'complaints') =>
    groups.reduce((total, group) => total + group[counter], 0);
  return {
    ...{ sent: sum('accepted'), delivered: sum('delivered'), deferred: sum('deferred') },
    ...{ bounced: sum('bounced'), excused: sum('excused'), complaints: sum('complaints') },
  };
}

async function totals() {
  const sums = await worker.get(StatsRepository).sum(scope(), PERIOD);
  const { sent, delivered, deferred, bounced, excused, complaints } = sums;
  return { sent, delivered, deferred, bounced, excused, complaints };
}

describe('counters', () => {
  it('are what the events say, whatever happens in whatever order, folded at whatever time', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        await scene.db.query('delete from suppressions');
        const to = ['r0', 'r1', 'r2'].map((name) => `${name}@x.example`);
        const ids = [await scene.accept({ to }), await scene.accept({ to })];
        for (const step of steps) await (step === 'fold' ? fold() : record(ids, step));
        const { drifts, unsettled, compared } = await check();
        expect({ drifts, unsettled }).toEqual({ drifts: [], unsettled: 0 });
        expect(compared).toBeGreaterThan(0);
        expect(await sumOfReceivers()).toEqual(await totals());
      }),
      { numRuns: 25 },
    );
  });

  /** One counter of one hour: adds to it in a transaction of its own, and reads it as the API does. */
  function counterOf(counter: 'delivered' | 'sent', hour: Date) {
    const { organizationId, domainId } = scene.tenant;
    const period = { from: hour, to: new Date(hour.getTime() + HOUR) };
    const stats = worker.get(StatsService);
    const delta = { organizationId, domainId, mode: 'live' as const, occurredAt: hour, counter, by: 1 };
    const add = () => scene.db.database.transaction((tx) => Promise.resolve(stats.record([delta], tx)));
    const read = async () => {
      const rows = await stats.readHours({ organizationId, mode: 'live' }, period);
      expect(rows.length).toBeLessThanOrEqual(1);
      return rows[0]?.[counter] ?? 0;
    };
    return { add, read };
  }

  it('count each once for a reader, however many processes fold at the time', async () => {
    const { add, read } = counterOf('delivered', new Date(thisHour - 30 * DAY));
    let written = 0;
    for (let round = 0; round < 40; round += 1) {
      for (let row = 0; row < 5; row += 1) await add();
      written += 5;
      const reads = Promise.all([read(), read(), read()]);
      await Promise.all([fold(), fold()]);
      expect(await reads).toEqual([written, written, written]);
      expect(await read()).toBe(written);
    }
  });

  it('never go back while mail is counted and folded', async () => {
    const { add, read } = counterOf('sent', new Date(thisHour - 31 * DAY));
    const writes = (async () => {
      for (let n = 0; n < 150; n += 1) await add();
    })();
    const folds = (async () => {
      for (let n = 0; n < 50; n += 1) await fold();
    })();
    const seen: number[] = [];
    for (let n = 0; n < 50; n += 1) seen.push(await read());
    await Promise.all([writes, folds]);
    expect(seen).toEqual([...seen].sort((one, other) => one - other));
    expect(await read()).toBe(150);
  });
});
