import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOUR } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { Database } from '../../../src/database/pool/database.service';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import { OutcomeSink } from '../../../src/delivery/ports/outcome';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { DeadClaims } from '../../../src/delivery/worker/crash-recovery';
import { JournalTakeover } from '../../../src/delivery/results/journal-takeover';
import { DeadSessionsJob } from '../../../src/delivery/worker/queue.job';
import { ResultJournal } from '../../../src/delivery/results/result-journal';
import { ResultCommit } from '../../../src/delivery/results/result-commit';
import { Settler } from '../../../src/delivery/results/settler';
import { WorkerSession } from '../../../src/delivery/worker/session/worker-session';
import { EmailChangesService } from '../../../src/modules/emails/email-changes.service';
import { EmailsService } from '../../../src/modules/emails/emails.service';
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

  /** A worker that claims everything and never renews its lease. */
  async function claimAndDie(worker: Core) {
    const session = worker.get(WorkerSession);
    await session.begin();
    const claims = await worker.get(Claimer).claim(session.id ?? '', { limit: 1_000 });
    await scene.db.query('update worker_sessions set lease_until = now()');
    return claims;
  }

  it('are missed only once their lease has ended', async () => {
    await scene.acceptTo('ada');
    const [dying, other] = [await startParts(), await startParts()];
    const session = dying.get(WorkerSession);
    await session.begin();
    await dying.get(Claimer).claim(session.id ?? '', { limit: 10 });
    await other.get(DeadClaims).free(500);
    expect(await scene.queue()).toEqual({ claimed: 1 });
    await scene.db.query('update worker_sessions set lease_until = now()');
    await other.get(DeadClaims).free(500);
    expect(await scene.queue()).toEqual({ ready: 1 });
  });

  it('leave their mail to others: free of charge, counted and explained', async () => {
    const before = await readCounters(scene.db, scene.tenant.organizationId);
    const [id = ''] = await scene.acceptTo('ada');
    await claimAndDie(await startParts());
    await (await startParts()).get(DeadClaims).free(500);
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

  it('leave their mail to others also when the event cannot be written', async () => {
    const [id = ''] = await scene.acceptTo('ada');
    await claimAndDie(await startParts());
    const parts = await startParts();
    const failing = jest.spyOn(parts.get(OutcomeSink), 'record').mockRejectedValue(new Error('this cannot be written'));
    const before = (await scene.read(id)).events.length;
    expect(await parts.get(DeadClaims).free(500)).toBe(1);
    failing.mockRestore();
    const { deliveries, events } = await scene.read(id);
    expect(deliveries).toMatchObject([{ state: 'ready', attempt: 0, crashes: 1, session_id: null }]);
    expect(events).toHaveLength(before);
  });

  it('leave their mail to others with its event, beside one whose event cannot be written', async () => {
    const ids = await scene.acceptTo('ada', 'bob', 'eve', 'kim', 'joe');
    await claimAndDie(await startParts());
    const parts = await startParts();
    const sink = parts.get(OutcomeSink);
    const record = sink.record.bind(sink);
    const failing = jest.spyOn(sink, 'record').mockImplementation((outcomes, tx) => {
      if (outcomes.some(({ emailId }) => emailId === ids[2])) return Promise.reject(new Error('cannot be written'));
      return record(outcomes, tx);
    });
    expect(await parts.get(DeadClaims).free(500)).toBe(5);
    failing.mockRestore();
    const lost = await Promise.all(ids.map(async (id) => (await scene.read(id)).events.at(-1)?.event_type));
    expect(lost).toEqual(['unknown', 'unknown', 'queued', 'unknown', 'unknown']);
  });

  it('repeat nothing that they report late, while nobody has claimed it again', async () => {
    const [id = ''] = await scene.acceptTo('ada');
    const worker = await startParts();
    const [claim] = await claimAndDie(worker);
    if (!claim) throw new Error('nothing was claimed');
    await (await startParts()).get(DeadClaims).free(500);
    const late = { claim, outcomes: [outcomeOfClaim(claim, { kind: 'delivered' })] } as const;
    await worker.get(Settler).settle(late);
    await worker.get(Settler).settle(late);
    expect(await scene.queue()).toEqual({});
    const { email, events } = await scene.read(id);
    expect(email.status).toBe('delivered');
    expect(events.map(({ event_type }) => event_type)).toEqual(['queued', 'sending', 'unknown', 'sent', 'delivered']);
  });

  it('leave mail that can be neither cancelled nor moved: it may have been sent', async () => {
    const [id = ''] = await scene.acceptTo('ada');
    await claimAndDie(await startParts());
    const worker = await startParts();
    await worker.get(DeadClaims).free(500);
    const tenant = scene.tenant.as('live');
    const later = new Date(Date.now() + HOUR);
    await expect(worker.get(EmailsService).cancel(tenant, id)).rejects.toMatchObject({ code: 'email_not_cancellable' });
    await expect(worker.get(EmailChangesService).reschedule(tenant, id, later)).rejects.toMatchObject({
      code: 'email_not_reschedulable',
      details: { status: 'sending' },
    });
    expect(await scene.queue()).toEqual({ ready: 1 });
  });

  it('are reaped by several at once, each claim once', async () => {
    const ids = await scene.acceptTo(...Array.from({ length: 40 }, (_, n) => `r${n}`));
    expect(await claimAndDie(await startParts())).toHaveLength(40);
    const reapers = [await startParts(), await startParts(), await startParts()];
    await Promise.all(reapers.flatMap((worker) => [1, 2].map(() => worker.get(DeadClaims).free(500))));
    await reapers[0]?.get(DeadClaims).free(500);
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
    await (await startParts()).get(DeadClaims).free(500);
    await repository.deleteDead();
    expect(await sessions()).toBe(0);
  });

  it('change nothing when they come back after another worker has claimed their mail', async () => {
    const [id = ''] = await scene.acceptTo('ada');
    const dead = await startParts();
    const [claim] = await claimAndDie(dead);
    if (!claim) throw new Error('nothing was claimed');
    const other = await startParts();
    await other.get(DeadClaims).free(500);
    const late = { claim, outcomes: [outcomeOfClaim(claim, { kind: 'delivered' })] as const };
    await dead.get(DeliveryQueueRepository).release([claim]);
    expect(await scene.queue()).toEqual({ ready: 1 });
    const session = other.get(WorkerSession);
    await session.begin();
    const [next] = await other.get(Claimer).claim(session.id ?? '', { limit: 10 });
    await dead.get(Settler).settle(late);
    expect(await scene.queue()).toEqual({ claimed: 1 });
    expect(next?.claimToken).toBe(claim.claimToken + 1);
    expect((await scene.read(id)).email.status).toBe('sending');
  });

  it('are given time to settle by a worker that has not watched a whole lease: it may have been an outage', async () => {
    await scene.acceptTo('ada');
    await claimAndDie(await startParts());
    const fresh = await startParts();
    const session = fresh.get(WorkerSession);
    await fresh.get(DeadSessionsJob).reap();
    await session.begin();
    await fresh.get(DeadSessionsJob).reap();
    expect(await scene.queue()).toEqual({ claimed: 1 });
    await watchLease(session);
    await fresh.get(DeadSessionsJob).reap();
    expect(await scene.queue()).toEqual({ ready: 1 });
  });

  const HAS_WATCHED = `update worker_sessions set watched_since = now() - interval '1 minute'`;

  /** As if a whole lease had passed, with all its renewals. */
  async function watchLease(session: WorkerSession): Promise<void> {
    expect(session.hasWatchedLease).toBe(false);
    await scene.db.query(`${HAS_WATCHED} where id = $1`, [session.id]);
    await session.renew();
  }

  describe('when a worker has just begun', () => {
    /** Whether a new worker may free claims at once, beside one that has watched for a minute. */
    async function mayReap(change: string): Promise<boolean> {
      const [other, next] = [await startParts(), await startParts()];
      await other.get(WorkerSession).begin();
      const fresh = next.get(WorkerSession);
      await scene.db.query(HAS_WATCHED);
      await scene.db.query(change);
      await fresh.begin();
      return fresh.hasWatchedLease;
    }

    it('are missed at once when another has watched the database meanwhile', async () => {
      await scene.acceptTo('ada');
      const witness = await startParts();
      await witness.get(WorkerSession).begin();
      await scene.db.query(HAS_WATCHED);
      const dying = await startParts();
      const { id: sessionId = '' } = await begun(dying);
      await dying.get(Claimer).claim(sessionId, { limit: 10 });
      await scene.db.query('update worker_sessions set lease_until = now() where id = $1', [sessionId]);
      const fresh = await startParts();
      await begun(fresh);
      await fresh.get(DeadSessionsJob).reap();
      expect(await scene.queue()).toEqual({ ready: 1 });
    });

    it('are missed by the successor of the last one, who was killed a moment ago', async () => {
      expect(await mayReap(`update worker_sessions set renewed_at = now() - interval '10 seconds'`)).toBe(true);
    });

    it.each([
      ['has had no answer for half a lease', `update worker_sessions set renewed_at = now() - interval '15 seconds'`],
      ['has not watched for a lease', `update worker_sessions set watched_since = now() - interval '20 seconds'`],
    ])('are left alone when the other %s', async (_what, change) => {
      expect(await mayReap(change)).toBe(false);
    });
  });

  it("are missed a lease after the database's clock was set back, and not only when it shows that time again", async () => {
    await scene.acceptTo('ada');
    const worker = await startParts();
    const { id = '' } = await begun(worker);
    await worker.get(Claimer).claim(id, { limit: 10 });
    const fiveDaysAhead = ['lease_until', 'renewed_at', 'watched_since'].map(
      (name) => `${name} = ${name} + interval '5 days'`,
    );
    await scene.db.query(`update worker_sessions set ${fiveDaysAhead.join(', ')} where id = $1`, [id]);
    const sessions = worker.get(WorkerSessionsRepository);
    expect(await sessions.begin(newId(), 'another', 1, 30)).toBeGreaterThanOrEqual(0);
    await sessions.deleteDead();
    const secondsLeft = (await sessions.findLeases([id])).get(id);
    expect(secondsLeft).toBeGreaterThan(0);
    expect(secondsLeft).toBeLessThanOrEqual(30);
    // One that is alive goes on.
    expect(await sessions.renew(id, 30)).toBeGreaterThanOrEqual(0);
    expect(await scene.queue()).toEqual({ claimed: 1 });
  });

  async function begun(worker: Core): Promise<WorkerSession> {
    const session = worker.get(WorkerSession);
    await session.begin();
    return session;
  }

  it('do not lose their lease because the pool is busy', async () => {
    const env = { DATABASE_POOL_SIZE: '1' };
    const worker = await scene.startWorker({ hopPort: sink.port, isRunning: false, env });
    const session = worker.get(WorkerSession);
    await session.begin();
    const { id } = session;
    const leaseUntil = async () => {
      const seconds = 'select extract(epoch from lease_until)::float8 as until from worker_sessions';
      return (await scene.db.query<{ until: number }>(seconds))[0]?.until ?? NaN;
    };
    let free: (value: unknown) => void = () => undefined;
    const isBusy = new Promise((resolve) => {
      const held = new Promise((freed) => (free = freed));
      void worker.get(Database).transaction(async () => {
        resolve(true);
        await held;
      });
    });
    await isBusy;
    const before = await leaseUntil();
    await session.renew();
    expect(await leaseUntil()).toBeGreaterThan(before);
    free(undefined);
    expect(session.id).toBe(id);
  });

  describe('with a journal on the volume that they share with others', () => {
    let WAYBILL_DATA_DIR: string;
    beforeEach(() => (WAYBILL_DATA_DIR = mkdtempSync(join(tmpdir(), 'waybill-shared-'))));
    afterEach(() => rmSync(WAYBILL_DATA_DIR, { recursive: true }));

    const start = () => scene.startWorker({ hopPort: sink.port, isRunning: false, env: { WAYBILL_DATA_DIR } });
    const journals = () => readdirSync(join(WAYBILL_DATA_DIR, 'journal'));

    async function claimAndNote(worker: Core) {
      const session = worker.get(WorkerSession);
      await session.begin();
      const [claim] = await worker.get(Claimer).claim(session.id ?? '', { limit: 1 });
      if (!claim) throw new Error('nothing was claimed');
      const settled = worker
        .get(ResultJournal)
        .note({ claim, outcomes: [outcomeOfClaim(claim, { kind: 'delivered' })] });
      return { session, settled };
    }

    /** Of two claims, with others between them that were committed: there is no moment in which nothing is open. */
    async function noteUnderLoad(worker: Core) {
      const session = worker.get(WorkerSession);
      await session.begin();
      const [first, last] = await worker.get(Claimer).claim(session.id ?? '', { limit: 2 });
      if (!first || !last) throw new Error('too little was claimed');
      const note = (claim: typeof first) =>
        worker.get(ResultJournal).note({ claim, outcomes: [outcomeOfClaim(claim, { kind: 'delivered' })] });
      note(first);
      for (let round = 0; round < 3_000; round += 1) note(first)();
      note(last);
      return { first: first.emailId, last: last.emailId };
    }

    it('are settled before their claims are freed', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      await claimAndNote(await start());
      await scene.db.query('update worker_sessions set lease_until = now()');
      const other = await start();
      await watchLease(await begun(other));
      await other.get(DeadSessionsJob).reap();
      expect(await scene.queue()).toEqual({});
      expect((await scene.read(id)).email.status).toBe('delivered');
      expect(journals()).toEqual([]);
    });

    it('are settled by a restarted process at once, which leaves the file until the lease has ended', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      const { session } = await claimAndNote(await start());
      const next = await start();
      await next.get(JournalTakeover).takeAll();
      expect((await scene.read(id)).email.status).toBe('delivered');
      expect(journals()).toEqual([`${session.id}.jsonl`]);
      await scene.db.query(`update worker_sessions set lease_until = now() - interval '1 second'`);
      await next.get(JournalTakeover).takeDying();
      expect(journals()).toEqual([]);
    });

    it('are settled from every file of a worker that was busy', async () => {
      const ids = await scene.acceptTo('ada', 'bob');
      const { first, last } = await noteUnderLoad(await start());
      expect(journals().length).toBeGreaterThan(1);
      await scene.db.query(`update worker_sessions set lease_until = now() - interval '1 second'`);
      await (await start()).get(JournalTakeover).takeDying();
      expect([first, last].sort()).toEqual([...ids].sort());
      for (const id of ids) expect((await scene.read(id)).email.status).toBe('delivered');
      expect(journals()).toEqual([]);
    });

    it('are kept when they could not be settled, and settled later', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      await claimAndNote(await start());
      await scene.db.query(`update worker_sessions set lease_until = now() - interval '1 second'`);
      const next = await start();
      jest
        .spyOn(next.get(ResultCommit), 'commit')
        .mockRejectedValueOnce(new Error('canceling statement due to conflict'));
      await next.get(JournalTakeover).takeDying();
      expect(journals()).toHaveLength(1);
      await (await start()).get(JournalTakeover).takeDying();
      expect((await scene.read(id)).email.status).toBe('delivered');
      expect(journals()).toEqual([]);
    });

    it('put their mail aside when they cannot be settled, so that it is not repeated', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      await claimAndNote(await start());
      await scene.db.query(`update worker_sessions set lease_until = now() - interval '1 second'`);
      const next = await start();
      const failing = jest.spyOn(next.get(ResultCommit), 'commit').mockRejectedValue(new Error('invalid value'));
      await watchLease(await begun(next));
      await next.get(DeadSessionsJob).reap();
      expect(await scene.queue()).toEqual({ held: 1 });
      failing.mockRestore();
      await (await start()).get(JournalTakeover).takeDying();
      expect((await scene.read(id)).email.status).toBe('delivered');
      expect(await scene.queue()).toEqual({});
    });

    it('and are not touched while they live', async () => {
      await scene.acceptTo('ada');
      const { session } = await claimAndNote(await start());
      await (await start()).get(JournalTakeover).takeDying();
      expect(await scene.queue()).toEqual({ claimed: 1 });
      expect(journals()).toEqual([`${session.id}.jsonl`]);
    });
  });
});
