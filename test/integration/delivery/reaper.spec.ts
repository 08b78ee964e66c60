import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import { Claimer } from '../../../src/delivery/worker/claimer';
import { DeadSessionsJob } from '../../../src/delivery/worker/dead-sessions.job';
import { Settler } from '../../../src/delivery/worker/settler';
import { WorkerSession } from '../../../src/delivery/worker/worker-session';
import { SmtpSink } from '../../doubles/smtp-sink';
import { outcomeOfClaim } from '../../factories/outcomes';
import { readCounters } from '../../factories/stored-email';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';

describe('workers that died', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    await scene.clear();
    sink.clear();
  });
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  const startParts = () => scene.startWorker({ hopPort: sink.port, isRunning: false });

  /** A worker that claims everything and is never heard of again. */
  async function claimAndDie(worker: Core) {
    const session = worker.get(WorkerSession);
    await session.begin();
    const claims = await worker.get(Claimer).claim(session.id ?? '', 1_000, []);
    await scene.db.query('update worker_sessions set lease_until = now()');
    return claims;
  }

  it('are missed only once their lease has ended', async () => {
    await scene.acceptTo('ada');
    const [dying, other] = [await startParts(), await startParts()];
    const session = dying.get(WorkerSession);
    await session.begin();
    await dying.get(Claimer).claim(session.id ?? '', 10, []);
    await other.get(DeadSessionsJob).reap();
    expect(await scene.queue()).toEqual({ claimed: 1 });
    await scene.db.query('update worker_sessions set lease_until = now()');
    await other.get(DeadSessionsJob).reap();
    expect(await scene.queue()).toEqual({ ready: 1 });
  });

  it('leave their mail to others: free of charge, counted and explained', async () => {
    const before = await readCounters(scene.db, scene.tenant.organizationId);
    const [id = ''] = await scene.acceptTo('ada');
    await claimAndDie(await startParts());
    await (await startParts()).get(DeadSessionsJob).reap();
    const { deliveries, events, email } = await scene.read(id);
    expect(deliveries).toMatchObject([{ state: 'ready', attempt: 0, crashes: 1, session_id: null, claim_token: 1 }]);
    expect(events.at(-1)).toMatchObject({
      event_type: 'unknown',
      source: 'system',
      data: { recipient: 'ada@x.example', attempt: 1, reason: 'outcome_unknown', detail: 'worker_lost' },
    });
    expect(email).toMatchObject({ status: 'sending', event_sequence: events.length });
    const after = await readCounters(scene.db, scene.tenant.organizationId);
    expect(after.deferred).toBe((before.deferred ?? 0) + 1);
  });

  it('are reaped by several at once, each claim once', async () => {
    const ids = await scene.acceptTo(...Array.from({ length: 40 }, (_, n) => `r${n}`));
    expect(await claimAndDie(await startParts())).toHaveLength(40);
    const reapers = [await startParts(), await startParts(), await startParts()];
    await Promise.all(reapers.flatMap((worker) => [1, 2].map(() => worker.get(DeadSessionsJob).reap())));
    await reapers[0]?.get(DeadSessionsJob).reap();
    expect(await scene.queue()).toEqual({ ready: 40 });
    const rows = await scene.db.query('select distinct crashes, attempt from deliveries');
    expect(rows).toEqual([{ crashes: 1, attempt: 0 }]);
    const told = `select from email_events where data ->> 'detail' = 'worker_lost' and email_id = any($1)`;
    expect(await scene.db.query(told, [ids])).toHaveLength(40);
  });

  it('are deleted when they hold nothing any more, and not too soon', async () => {
    await scene.acceptTo('ada');
    await claimAndDie(await startParts());
    const repository = (await startParts()).get(WorkerSessionsRepository);
    const sessions = async () => (await scene.db.query('select from worker_sessions')).length;
    await repository.deleteDead();
    expect(await sessions()).toBe(1);
    await scene.db.query(`update worker_sessions set lease_until = now() - interval '11 minutes'`);
    await repository.deleteDead();
    expect(await sessions()).toBe(1);
    await (await startParts()).get(DeadSessionsJob).reap();
    await repository.deleteDead();
    expect(await sessions()).toBe(0);
  });

  it('change nothing when they come back', async () => {
    const [id = ''] = await scene.acceptTo('ada');
    const dead = await startParts();
    const [claim] = await claimAndDie(dead);
    if (!claim) throw new Error('nothing was claimed');
    const other = await startParts();
    await other.get(DeadSessionsJob).reap();
    const late = { claim, outcomes: [outcomeOfClaim(claim, { kind: 'delivered' })] as const };
    await dead.get(Settler).settle(late);
    await dead.get(DeliveryQueueRepository).release([claim]);
    expect(await scene.queue()).toEqual({ ready: 1 });
    const session = other.get(WorkerSession);
    await session.begin();
    const [next] = await other.get(Claimer).claim(session.id ?? '', 10, []);
    await dead.get(Settler).settle(late);
    expect(await scene.queue()).toEqual({ claimed: 1 });
    expect(next?.claimToken).toBe(claim.claimToken + 1);
    expect((await scene.read(id)).email.status).toBe('sending');
  });

  it('were killed by a mail that does so every time: it ends after five of them', async () => {
    const [poison = ''] = await scene.acceptTo('poison');
    for (let crash = 1; crash <= 5; crash += 1) {
      expect(await claimAndDie(await startParts())).toMatchObject([{ crashes: crash - 1, attempt: 1 }]);
      await (await startParts()).get(DeadSessionsJob).reap();
    }
    const [other = ''] = await scene.acceptTo('other');
    await scene.startWorker({ hopPort: sink.port });
    const rows = await scene.readWhenStatus(poison, 'failed');
    expect(rows.events.at(-1)).toMatchObject({ event_type: 'failed', data: { reason: 'poison' } });
    expect(rows.deliveries).toEqual([]);
    await scene.readWhenStatus(other, 'sent');
    expect(sink.messages.flatMap(({ recipients }) => recipients)).toEqual(['other@x.example']);
  });
});
