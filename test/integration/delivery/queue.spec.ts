import { DAY, HOUR, MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import type { ClaimedDelivery } from '../../../src/delivery/ports/delivery';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { QueueMeasures } from '../../../src/delivery/queue/queue-measures.service';
import type { NewDelivery } from '../../../src/delivery/queue/sql/open-deliveries.sql';
import type { HeldDestinations } from '../../../src/delivery/shaping/held-destinations.service';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import type { Transaction } from '../../../src/database/statements/transaction';
import { type ClaimRound, claimRound, fillQueue, keyOf, newDelivery } from '../../factories/deliveries';
import { testConfig } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const later = (ms: number) => new Date(NOW.getTime() + ms);

describe('the delivery queue', () => {
  let db: OpenTestDatabase;
  let queue: DeliveryQueueRepository;
  let measures: QueueMeasures;
  let sessionId: string;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 12 });
    queue = new DeliveryQueueRepository(db.database);
    const held = { get: () => Promise.resolve({ keys: ['mx.down.example'] }) } as unknown as HeldDestinations;
    measures = new QueueMeasures(queue, testConfig(), held);
  });
  beforeEach(async () => {
    await db.query('truncate deliveries, worker_sessions');
    sessionId = await beginSession();
  });
  afterAll(() => db.drop());

  async function beginSession(): Promise<string> {
    const id = newId();
    await new WorkerSessionsRepository(db.database, db.database).begin(id, 'host', 1, 30);
    return id;
  }

  const enqueue = (rows: readonly NewDelivery[], now = NOW) =>
    db.database.transaction((tx) => Promise.resolve(queue.enqueue(rows, now, tx)));

  const claim = ({ sessionId: id = sessionId, ...fields }: ClaimRound = {}) =>
    claimRound(db, id, { now: NOW, ...fields });

  async function claimOne(fields: Partial<NewDelivery> = {}): Promise<ClaimedDelivery> {
    await enqueue([newDelivery({ dueAt: NOW, ...fields })]);
    const [claimed] = await claim();
    if (!claimed) throw new Error('nothing to claim');
    return claimed;
  }

  const settle = (claims: readonly ClaimedDelivery[], nextAttemptAt: Date | null, now = NOW) =>
    db.database.transaction((tx) =>
      queue.settle(
        claims.map((row) => ({ ...row, nextAttemptAt })),
        now,
        tx,
      ),
    );

  const states = async () => (await db.query('select state from deliveries order by state')).map(({ state }) => state);

  describe('enqueue', () => {
    it('distinguishes due work from waiting work', async () => {
      await enqueue([newDelivery({ dueAt: NOW }), newDelivery({ dueAt: later(-1) }), newDelivery({ dueAt: later(1) })]);
      expect(await states()).toEqual(['ready', 'ready', 'waiting']);
    });

    it('takes an empty batch', async () => {
      await enqueue([]);
      expect(await states()).toEqual([]);
    });

    it('refuses the same recipient of the same email twice, and then writes nothing', async () => {
      const row = newDelivery({ dueAt: NOW });
      await expect(enqueue([newDelivery({ dueAt: NOW }), row, row])).rejects.toMatchObject({ code: '23505' });
      expect(await states()).toEqual([]);
    });

    it('keeps every field', async () => {
      const row = newDelivery({ dueAt: NOW, expiresAt: later(HOUR), category: 'bulk', mode: 'test', position: 49 });
      const claimed = await claimOne(row);
      expect(claimed).toEqual({
        ...row,
        dueAt: undefined,
        attempt: 1,
        crashes: 0,
        refusals: 0,
        claimToken: 1,
        claimedAt: expect.any(Date),
        firstDueAt: NOW,
        sessionId: expect.any(String),
        traceContext: null,
      });
      const trace = 'a1'.repeat(24);
      expect(await claimOne(newDelivery({ dueAt: NOW, traceContext: trace }))).toHaveProperty('traceContext', trace);
    });
  });

  describe('promote', () => {
    it('makes due work ready, the longest due first, up to the limit', async () => {
      const rows = [3, 1, 2].map((minutes) => newDelivery({ dueAt: later(minutes * MINUTE) }));
      await enqueue(rows);
      expect(await queue.promoteDue(NOW, 10)).toBe(0);
      expect(await queue.promoteDue(later(HOUR), 2)).toBe(2);
      expect((await claim()).map(keyOf).sort()).toEqual([rows[1], rows[2]].map((row) => keyOf(row!)).sort());
      expect(await queue.promoteDue(later(HOUR), 10)).toBe(1);
      expect(await queue.promoteDue(later(HOUR), 10)).toBe(0);
    });

    it('shares the work among promoters at the same time', async () => {
      await fillQueue(db, 2_000, { state: 'waiting', dueAt: NOW });
      const promoted = await Promise.all(Array.from({ length: 8 }, () => queue.promoteDue(NOW, 400)));
      let total = promoted.reduce((sum, count) => sum + count, 0);
      for (let more = 1; more > 0; total += more) more = await queue.promoteDue(NOW, 400);
      expect(total).toBe(2_000);
      expect(new Set(await states())).toEqual(new Set(['ready']));
    });
  });

  describe('claim', () => {
    it('returns nothing when there is nothing', async () => {
      expect(await claim()).toEqual([]);
      await enqueue([newDelivery({ dueAt: later(1) })]);
      expect(await claim()).toEqual([]);
    });

    it.each([1, 2, 7, 100])('takes no more than %i', async (limit) => {
      const organizations = Array.from({ length: 40 }, newId);
      await enqueue(
        organizations.flatMap((organizationId) =>
          Array.from({ length: 20 }, (_, n) =>
            newDelivery({ organizationId, destination: `d${n % 10}.example`, dueAt: NOW }),
          ),
        ),
      );
      expect((await claim({ limit })).length).toBe(limit);
    });

    it('takes nothing for a session whose lease has ended', async () => {
      await fillQueue(db, 3, { dueAt: later(-5 * DAY) });
      await db.query('update worker_sessions set lease_until = now()');
      expect(await claim()).toEqual([]);
      expect(await claim({ sessionId: newId() })).toEqual([]);
      expect(await queue.claimOverdue(sessionId, NOW, 10, NOW)).toEqual([]);
    });

    it('gives every row to exactly one of many claimers', async () => {
      for (let organization = 0; organization < 5; organization += 1) await fillQueue(db, 1_000, { dueAt: NOW });
      const claimed: ClaimedDelivery[] = [];
      const claimer = async () => {
        const id = await beginSession();
        for (let empty = 0; empty < 2;) {
          const rows = await claim({ sessionId: id, limit: 100 });
          claimed.push(...rows);
          // All that is left may be locked by another one, who is about to commit.
          empty = rows.length === 0 ? empty + 1 : 0;
        }
      };
      await Promise.all(Array.from({ length: 8 }, claimer));
      expect(claimed).toHaveLength(5_000);
      expect(new Set(claimed.map(keyOf)).size).toBe(5_000);
      expect(new Set(claimed.map((row) => row.claimToken))).toEqual(new Set([1]));
    });

    it('raises the token with every claim, whatever ended the one before', async () => {
      const first = await claimOne();
      await queue.release([first]);
      const [second] = await claim();
      await settle([second!], later(-1));
      const [third] = await claim();
      await db.query('update worker_sessions set lease_until = now()');
      await db.database.transaction((tx) => queue.reap(10, tx));
      sessionId = await beginSession();
      const [fourth] = await claim();
      expect([first, second, third, fourth].map((row) => row?.claimToken)).toEqual([1, 2, 3, 4]);
      // A release and a crash are not charged.
      expect([first, second, third, fourth].map((row) => row?.attempt)).toEqual([1, 1, 2, 2]);
    });
  });

  describe('settle', () => {
    it('removes ended deliveries and keeps the rest for later', async () => {
      await enqueue([1, 2, 3].map(() => newDelivery({ dueAt: NOW })));
      const [over, deferred, again] = (await claim()) as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery];
      const taken = await db.database.transaction((tx) =>
        queue.settle(
          [
            { ...over, nextAttemptAt: null },
            { ...deferred, nextAttemptAt: later(MINUTE) },
            { ...again, nextAttemptAt: NOW },
          ],
          NOW,
          tx,
        ),
      );
      expect([...taken].sort()).toEqual([0, 1, 2]);
      const rows = await db.query('select email_id, state, due_at, session_id, attempt from deliveries order by state');
      expect(rows).toEqual([
        { email_id: again.emailId, state: 'ready', due_at: NOW, session_id: null, attempt: 1 },
        { email_id: deferred.emailId, state: 'waiting', due_at: later(MINUTE), session_id: null, attempt: 1 },
      ]);
    });

    it('takes an empty batch', async () => {
      expect(await settle([], null)).toEqual([]);
    });

    it('takes nothing with an outdated token', async () => {
      const outdated = await claimOne();
      await queue.release([outdated]);
      const [current] = await claim();
      expect(await settle([outdated], null)).toEqual([]);
      await queue.release([outdated]);
      expect(await states()).toEqual(['claimed']);
      expect(await settle([current!], null)).toEqual([0]);
      expect(await states()).toEqual([]);
    });

    it('takes nothing that is not claimed', async () => {
      const claimed = await claimOne();
      await settle([claimed], later(MINUTE));
      expect(await settle([claimed], null)).toEqual([]);
      expect(await states()).toEqual(['waiting']);
    });

    it('counts permanent refusals, and no other attempts', async () => {
      let claimed = await claimOne();
      const seen = [];
      for (const isRefusal of [true, false, true]) {
        await db.database.transaction((tx) => queue.settle([{ ...claimed, nextAttemptAt: NOW, isRefusal }], NOW, tx));
        claimed = (await claim())[0]!;
        seen.push([claimed.attempt, claimed.refusals]);
      }
      expect(seen).toEqual([
        [2, 1],
        [3, 1],
        [4, 2],
      ]);
    });

    it('takes an acceptance after its claim has been freed, until the delivery is claimed again', async () => {
      const [freed, held, again] = [await claimOne(), await claimOne(), await claimOne()];
      await queue.release([freed, held, again]);
      await db.query(`update deliveries set state = 'held' where email_id = $1`, [held.emailId]);
      const settleAll = (isAcceptance: boolean) =>
        db.database.transaction((tx) =>
          queue.settle(
            [freed, held, again].map((row) => ({ ...row, nextAttemptAt: null, isAcceptance })),
            NOW,
            tx,
          ),
        );
      await db.query(`update deliveries set claim_token = 2 where email_id = $1`, [again.emailId]);
      expect(await settleAll(false)).toEqual([]);
      expect((await settleAll(true)).toSorted()).toEqual([0, 1]);
      expect(await settleAll(true)).toEqual([]);
      expect(await db.query('select email_id from deliveries')).toEqual([{ email_id: again.emailId }]);
    });

    it('lets either a claim or a late acceptance have a delivery, never both', async () => {
      for (let round = 0; round < 20; round += 1) {
        const first = await claimOne();
        await queue.release([first]);
        const late = db.database.transaction((tx) =>
          queue.settle([{ ...first, nextAttemptAt: null, isAcceptance: true }], NOW, tx),
        );
        const [taken, claimed] = await Promise.all([late, claim()]);
        expect(taken.length + claimed.length).toBe(1);
        await settle(claimed, null);
      }
    });

    it('takes one of two settlements of the same claim', async () => {
      const claimed = await claimOne();
      const taken = await Promise.all([settle([claimed], null), settle([claimed], later(MINUTE))]);
      expect(taken.flat()).toHaveLength(1);
    });

    it('never deadlocks, whatever the order of the batches', async () => {
      const organizationId = newId();
      await enqueue(Array.from({ length: 40 }, () => newDelivery({ organizationId, dueAt: NOW })));
      let attempts = 0;
      const settleOnce = (claims: readonly ClaimedDelivery[]) =>
        db.database.transaction((tx) => {
          attempts += 1;
          const results = claims.map((row) => ({ ...row, nextAttemptAt: NOW }));
          return queue.settle(results, NOW, tx);
        });
      for (let round = 0; round < 50; round += 1) {
        const claims = await claim();
        const taken = await Promise.all([settleOnce(claims), settleOnce([...claims].reverse())]);
        expect(taken.flat()).toHaveLength(40);
      }
      expect(attempts).toBe(100);
    });
  });

  describe('a settlement and a transaction that locks deliveries in the order of their keys', () => {
    it('both succeed, though the settlement deletes ended ones before it updates deferred ones', async () => {
      const email = { organizationId: newId(), mode: 'live' as const, emailId: newId() };
      await enqueue([0, 1].map((position) => newDelivery({ ...email, position, dueAt: NOW })));
      const claims = (await claim()).toSorted((a, b) => a.position - b.position);
      expect(claims).toHaveLength(2);
      const [deferred, ended] = claims as [ClaimedDelivery, ClaimedDelivery];
      const results = [
        { ...deferred, nextAttemptAt: later(MINUTE) },
        { ...ended, nextAttemptAt: null },
      ];
      const lock = ({ emailId, position }: ClaimedDelivery, tx: Transaction) =>
        tx.run({
          name: 'lock-delivery',
          text: 'select from deliveries where email_id = $1 and position = $2 for update',
          values: [emailId, position],
        });
      const isWaiting = async () => {
        const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        return (await db.query(waiting)).length > 0;
      };
      let settling: Promise<unknown> | undefined;
      let attempts = 0;
      await db.database.transaction(async (tx) => {
        attempts += 1;
        await lock(deferred, tx);
        if (!settling) {
          settling = db.database.transaction((other) => {
            attempts += 1;
            return queue.settle(results, NOW, other);
          });
          await waitFor(isWaiting, { what: 'the settlement to wait' });
        }
        await lock(ended, tx);
      });
      expect(await settling).toHaveLength(2);
      // One of them was ended by Postgres and ran again.
      expect(attempts).toBeGreaterThan(2);
      expect(await states()).toEqual(['waiting']);
    });
  });

  describe('release', () => {
    it('gives claims back without a charge', async () => {
      await queue.release([]);
      const claimed = await claimOne();
      await queue.release([claimed]);
      const [row] = await db.query('select state, attempt, session_id, crashes from deliveries');
      expect(row).toEqual({ state: 'ready', attempt: 0, session_id: null, crashes: 0 });
    });

    it('does not wait for the worker that has the claim since: each would wait for rows of the other', async () => {
      const [outdated, own] = [await claimOne(), await claimOne()];
      await db.query('update deliveries set claim_token = claim_token + 1 where email_id = $1', [outdated.emailId]);
      const ready = () => db.query(`select email_id from deliveries where state = 'ready'`);
      let released = Promise.resolve();
      await db.database.transaction(async (tx) => {
        await tx.manager.query('select from deliveries where email_id = $1 for update', [outdated.emailId]);
        released = queue.release([outdated, own]);
        await waitFor(async () => (await ready()).length === 1, { what: 'the release' });
      });
      await released;
      expect(await ready()).toEqual([{ email_id: own.emailId }]);
    });
  });

  describe('withdraw', () => {
    it('takes the recipients that no worker has begun', async () => {
      const email = { organizationId: newId(), mode: 'live' as const, emailId: newId() };
      const rows = [0, 1, 2].map((position) => newDelivery({ ...email, position, dueAt: NOW }));
      await enqueue([...rows, newDelivery({ ...email, mode: 'test' }), newDelivery({ emailId: email.emailId })]);
      const withdraw = () => db.database.transaction((tx) => queue.withdraw(email, tx));
      expect((await withdraw()).sort()).toEqual([0, 1, 2]);
      expect(await withdraw()).toEqual([]);
      expect(await states()).toHaveLength(2);
    });

    it('leaves claimed and attempted deliveries', async () => {
      const claimed = await claimOne();
      const withdraw = () => db.database.transaction((tx) => queue.withdraw(claimed, tx));
      expect(await withdraw()).toEqual([]);
      await settle([claimed], later(HOUR));
      expect(await withdraw()).toEqual([]);
      expect(await states()).toEqual(['waiting']);
    });
  });

  describe('claim of the overdue', () => {
    it('takes expired deliveries, waiting or ready', async () => {
      const bornBefore = later(-4 * DAY);
      const old = newDelivery({ dueAt: later(-4 * DAY - 1) });
      const expired = newDelivery({ dueAt: later(-HOUR), expiresAt: NOW });
      const waiting = newDelivery({ dueAt: later(HOUR), expiresAt: later(-1) });
      await enqueue([old, expired, waiting, newDelivery({ dueAt: NOW }), newDelivery({ dueAt: bornBefore })]);
      const claimed = await queue.claimOverdue(sessionId, NOW, 10, bornBefore);
      expect(claimed.map(keyOf).sort()).toEqual([old, expired, waiting].map(keyOf).sort());
      expect(await queue.claimOverdue(sessionId, NOW, 10, bornBefore)).toEqual([]);
      expect(await settle(claimed, null)).toHaveLength(3);
    });
  });

  it('is counted by one process at a time, and less often when counting takes long', async () => {
    await db.query(`update queue_measures set measured_at = '-infinity', begun_at = '-infinity', took = '0'`);
    await fillQueue(db, 3, { dueAt: NOW });
    const ready = async () => (await measures.last()).ready;
    expect(await ready()).toBe(3);
    await fillQueue(db, 2, { dueAt: NOW });
    expect(await ready()).toBe(3);
    await db.query(`update queue_measures set measured_at = now() - interval '3 seconds', took = '1 second'`);
    expect(await ready()).toBe(3);
    await db.query(`update queue_measures set took = '50 milliseconds', begun_at = now()`);
    // Another process counts.
    expect(await ready()).toBe(3);
    await db.query(`update queue_measures set begun_at = now() - interval '11 seconds'`);
    expect(await Promise.all([ready(), ready(), ready()])).toContain(5);
    expect(await ready()).toBe(5);
  });

  it("is counted again after the database's clock was set back", async () => {
    await measures.measure();
    await fillQueue(db, 1, { dueAt: NOW });
    await db.query(
      `update queue_measures set measured_at = now() + interval '5 days', begun_at = now() + interval '5 days'`,
    );
    expect((await measures.last()).ready).toBe(1);
  });

  it('measures itself', async () => {
    await fillQueue(db, 3, { dueAt: later(HOUR), state: 'waiting' });
    await fillQueue(db, 2, { dueAt: new Date(Date.now() - HOUR) });
    await claimOne();
    const measure = await measures.measure();
    expect(measure).toMatchObject({ ready: 0, waiting: 3, claimed: 3, oldestReadySeconds: 0, workers: 1 });
    await fillQueue(db, 1, { dueAt: new Date(Date.now() - HOUR) });
    expect((await measures.measure()).oldestReadySeconds).toBeGreaterThanOrEqual(3_600);
  });

  it('tells mail that waits for its destination from mail that waits for a worker', async () => {
    const ofGroups = [
      ['mx.down.example', ['down.example', 'shop.example']],
      ['mx.down.example', ['down.example', 'only-the-other-worker-knows.example']],
      ['mx.open.example', ['example.com']],
    ];
    for (const [key, domains] of ofGroups) {
      await db.query(
        `insert into destination_reports (key, session_id, active, concurrency, pauses, mx_hosts, domains, delivered, deferred, bounced)
         values ($1, $2, 0, 1, 1, '{}', $3, 0, 0, 0)`,
        [key, newId(), domains],
      );
    }
    const longAgo = new Date(Date.now() - 2 * HOUR);
    for (const destination of ['down.example', 'shop.example', 'only-the-other-worker-knows.example']) {
      await fillQueue(db, 2, { destination, dueAt: longAgo });
    }
    await fillQueue(db, 1, { destination: 'down.example', dueAt: longAgo, state: 'held' });
    expect(await measures.measure()).toMatchObject({ ready: 6, held: 1, heldBack: 6, oldestReadySeconds: 0 });
    await fillQueue(db, 3, { dueAt: new Date(Date.now() - HOUR) });
    const { ready, heldBack, oldestReadySeconds } = await measures.measure();
    expect({ ready, heldBack }).toEqual({ ready: 9, heldBack: 6 });
    expect(oldestReadySeconds).toBeGreaterThanOrEqual(3_600);
    expect(oldestReadySeconds).toBeLessThan(7_200);
    await db.query('truncate destination_reports');
  });
});
