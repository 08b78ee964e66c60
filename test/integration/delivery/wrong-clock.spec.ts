import assert from 'node:assert/strict';
import { Logger } from '@nestjs/common';
import { Metrics } from '../../../src/common/metrics/metrics';
import { DatabaseClock, DAY, HOUR, MINUTE, SECOND, SystemClock } from '../../../src/common/clock';
import { newId, timeOfId } from '../../../src/common/ids';
import { ClockReadings } from '../../../src/database/pool/database.metrics';
import type { Database } from '../../../src/database/pool/database.service';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { PromoteDueJob, QueueSweepJob } from '../../../src/delivery/worker/queue.job';
import { WorkerSession } from '../../../src/delivery/worker/session/worker-session';
import { FakeClock } from '../../doubles/fake-clock';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

/** A clock that a test sets. */
class WrongClock extends SystemClock {
  aheadMs = 0;

  override now(): Date {
    return new Date(super.now().getTime() + this.aheadMs);
  }
}

describe("a worker whose clock is not the database's", () => {
  let scene: DeliveryScene;
  let own: WrongClock;
  beforeAll(async () => (scene = await DeliveryScene.open()));
  beforeEach(() => (own = new WrongClock()));
  afterEach(() => scene.clear());
  afterAll(() => scene.close());

  const inTwoDays = () => new Date(Date.now() + 2 * DAY).toISOString();
  const eventsOf = async (id: string) => (await scene.read(id)).events.map(({ event_type }) => event_type);

  it('ends nothing and claims nothing five days ahead, logs it, and continues once the clock is right', async () => {
    own.aheadMs = 5 * DAY;
    const sink = await SmtpSink.start();
    const [now, later] = [await scene.accept(), await scene.accept({ scheduledAt: inTwoDays() })];
    const worker = await scene.startWorker({ hopPort: sink.port, clock: new DatabaseClock(own) });
    const runs = async () => worker.get(Metrics).registry.metrics();
    await waitFor(async () => /job_name="promote-due",result="clock_wrong"} [1-9]/.test(await runs()), {
      what: 'a refusal',
    });
    const session = worker.get(WorkerSession);
    await waitFor(() => session.id !== undefined, { what: 'a session' });
    // Another one must not wait for it to share limits.
    await scene.db.query(
      `insert into worker_sessions (id, host, process_id, lease_until) values ($1, 'other', 1, now() + interval '1 hour')`,
      [newId()],
    );
    const known = 'select cardinality(peers) as count from worker_sessions where id = $1';
    await waitFor(async () => (await scene.db.query<{ count: number }>(known, [session.id]))[0]?.count === 2, {
      what: 'the other to be confirmed',
    });
    await scene.db.query(`delete from worker_sessions where host = 'other'`);
    // Asked all the same, they go by the database's time.
    await worker.get(QueueSweepJob).endOverdue();
    await worker.get(PromoteDueJob).promote();
    expect(await worker.get(Claimer).claim(session.id ?? '', { limit: 10 })).toEqual([]);
    expect(await scene.queue()).toEqual({ ready: 1, waiting: 1 });
    const offset = await worker.get(Metrics).registry.getSingleMetricAsString('waybill_clock_offset_seconds');
    expect(Number(/ ([\d.]+)$/m.exec(offset)?.[1])).toBeCloseTo((5 * DAY) / 1_000, -1);

    own.aheadMs = 0;
    await worker.get(ClockReadings).read();
    await scene.readWhenStatus(now, 'sent');
    expect(await eventsOf(later)).toEqual(['scheduled']);
    expect(await scene.queue()).toEqual({ waiting: 1 });
    await scene.clear();
    await sink.stop();
  });

  it("goes by the database's time when its clock jumps in the middle of an attempt", async () => {
    const server = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet();
      await peer.expect('MAIL');
      own.aheadMs = 5 * DAY;
      peer.send('451 later\r\n');
      peer.close();
    });
    const id = await scene.accept();
    await scene.startWorker({ hopPort: server.port, clock: new DatabaseClock(own) });
    await waitFor(async () => (await scene.queue()).waiting === 1, { what: 'the deferral' });
    expect(await eventsOf(id)).toEqual(['queued', 'sending', 'deferred']);
    const [row] = await scene.db.query<{ soon: boolean }>(
      `select due_at < now() + interval '1 hour' as soon from deliveries`,
    );
    expect(row).toEqual({ soon: true });
    await scene.clear();
    await server.stop();
  });
});

describe('the first reading of the clock', () => {
  const own = new FakeClock();
  const readings = (serverFacts: () => Promise<{ now: Date }>) => {
    const clock = new DatabaseClock(own);
    const database = { serverFacts } as unknown as Database;
    return { clock, readings: new ClockReadings(database, clock, new Metrics()) };
  };

  it.each([
    ['takes eight seconds', (): void => own.advance(8 * SECOND), 1],
    ['fails at the first attempt', (calls: number) => assert(calls > 1), 2],
  ])('counts when it %s: nothing is dated by a wrong clock', async (_what, meet, attempts) => {
    let calls = 0;
    const wrong = readings(() => {
      meet((calls += 1));
      return Promise.resolve({ now: new Date(own.now().getTime() - 5 * DAY) });
    });
    await wrong.readings.onModuleInit();
    expect(calls).toBe(attempts);
    expect(wrong.clock.isReliable).toBe(false);
    const behindMs = own.now().getTime() - timeOfId(newId()).getTime();
    expect(behindMs).toBeGreaterThan(4 * DAY);
    await wrong.readings.onApplicationShutdown();
  });
});

describe('the log', () => {
  afterEach(() => jest.restoreAllMocks());

  it('says that the clock is right again, and nothing while it always was', async () => {
    const said = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const { own, databaseNow, readings } = await startReading();
    own.set(new Date(databaseNow.getTime() + DAY));
    await readings.read();
    expect(said).not.toHaveBeenCalled();
    own.set(databaseNow);
    await readings.read();
    expect(said).toHaveBeenCalledWith("The clock agrees with the database's within 0.0 s");
    await readings.onApplicationShutdown();
  });

  it('says every minute that it is wrong, and by how much now', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const { own, databaseNow, readings } = await startReading();
    own.set(new Date(databaseNow.getTime() - HOUR));
    await readings.read();
    await readings.read();
    expect(error.mock.calls).toEqual([
      [expect.stringMatching(/^This process's clock is 3600.0 s behind the database's/)],
    ]);
    own.advance(MINUTE);
    await readings.read();
    expect(error).toHaveBeenLastCalledWith(expect.stringMatching(/^This process's clock is 3540.0 s behind/));
    expect(error).toHaveBeenCalledTimes(2);
    await readings.onApplicationShutdown();
  });
});

/** With a database whose clock stands still. */
async function startReading() {
  const own = new FakeClock();
  const databaseNow = own.now();
  const facts = { serverFacts: () => Promise.resolve({ now: databaseNow }) } as unknown as Database;
  const readings = new ClockReadings(facts, new DatabaseClock(own), new Metrics());
  await readings.onModuleInit();
  return { own, databaseNow, readings };
}

describe("a process that accepts mail and whose clock is not the database's", () => {
  it.each([
    ['ahead', 5 * DAY],
    ['behind', -5 * DAY],
  ])("dates mail by the database's time five days %s, when it starts and when it jumps", async (_way, aheadMs) => {
    const right = (): number => performance.timeOrigin + performance.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => right() + aheadMs);
    const scene = await DeliveryScene.open();
    try {
      const ids = [await scene.accept()];
      clock.mockImplementation(() => right() - aheadMs);
      ids.push(await scene.accept());
      for (const id of ids) {
        const { email, events } = await scene.read(id);
        const times = [timeOfId(id), email.created_at, ...events.map(({ occurred_at }) => occurred_at)];
        expect(times.filter((time) => Math.abs(time.getTime() - right()) > HOUR)).toEqual([]);
      }
    } finally {
      // Jest measures with it how long the file takes.
      clock.mockRestore();
      await scene.close();
    }
  });
});
