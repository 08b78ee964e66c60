import { newId } from '../../../src/common/ids';
import { SystemClock } from '../../../src/common/clock';
import type { ClaimedDelivery } from '../../../src/delivery/ports/delivery';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import { WorkerWaker } from '../../../src/delivery/queue/worker-waker.service';
import { type Database, DatabaseUrl } from '../../../src/database/pool/database.service';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { ClaimPlanner } from '../../../src/delivery/worker/claims/claim-plan';
import { WorkerSlots } from '../../../src/delivery/worker/slots/worker-slots';
import { claimInput, type ClaimRound, claimRound, countBy, fillQueue, openPlanner } from '../../factories/deliveries';
import { WorkSignal } from '../../../src/delivery/worker/session/work-signal';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const clock = new SystemClock();
const NO_WEIGHTS = { weights: () => Promise.resolve(new Map<string, number>()) };
const numbered = (count: number) => Array.from({ length: count }, (_, n) => String(n).padStart(3, '0'));
const sum = (counts: Map<string, number>) => [...counts.values()].reduce((total, count) => total + count, 0);

describe('claiming is fair', () => {
  let db: OpenTestDatabase;
  let queue: DeliveryQueueRepository;
  let sessionId: string;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 4 });
    queue = new DeliveryQueueRepository(db.database);
  });
  beforeEach(async () => {
    await db.query('truncate deliveries, worker_sessions');
    sessionId = newId();
    await new WorkerSessionsRepository(db.database, db.database).begin(sessionId, 'host', 1, 300);
  });
  afterAll(() => db.drop());

  const claim = (fields: ClaimRound = {}) => claimRound(db, sessionId, fields);

  /** The worker's rounds: what each claim took. */
  async function claimRounds(
    rounds: number,
    { limit = 100, blocked = [] as string[], weights = new Map<string, number>() } = {},
  ) {
    const source = { weights: () => Promise.resolve(weights) };
    const claimer = new Claimer(queue, source, openPlanner(clock), clock);
    const taken: ClaimedDelivery[][] = [];
    const room = { limit, filter: { blocked } };
    for (let round = 0; round < rounds; round += 1) taken.push(await claimer.claim(sessionId, room));
    return taken;
  }

  /** The length of what is sent with each statement, and how many rows each returns. */
  function watch() {
    const [sent, read] = [[] as number[], new Map<string, number>()];
    const run: Database['run'] = async (statement) => {
      const rows = await db.database.run(statement);
      sent.push(JSON.stringify(statement.values).length);
      read.set(statement.name, (read.get(statement.name) ?? 0) + rows.length);
      return rows;
    };
    return { sent, read, watched: { run } as Database };
  }

  describe('among organizations', () => {
    it('a noisy one does not keep the quiet ones waiting', async () => {
      const noisy = newId();
      const quiet = Array.from({ length: 20 }, newId);
      await fillQueue(db, 20_000, { organizationId: noisy });
      for (const organizationId of quiet) await fillQueue(db, 10, { organizationId });
      const first = countBy(await claim(), 'organizationId');
      expect(quiet.filter((id) => !first.has(id))).toEqual([]);
      expect(first.get(noisy)).toBeLessThanOrEqual(5);
      expect(sum(first)).toBe(100);
    });

    it('all are served in the first round, however many there are', async () => {
      const noisy = newId();
      const quiet = Array.from({ length: 100 }, newId);
      await fillQueue(db, 5_000, { organizationId: noisy });
      for (const organizationId of quiet) await fillQueue(db, 10, { organizationId });
      // 101 organizations, 32 in a claim.
      const first = countBy((await claimRounds(4)).flat(), 'organizationId');
      expect(quiet.filter((id) => !first.has(id))).toEqual([]);
      expect(first.get(noisy)).toBeLessThanOrEqual(8);
    });

    it.each([1, 32, 33, 40, 100])('%i with deep queues take equal shares over many claims', async (count) => {
      const organizations = Array.from({ length: count }, newId);
      for (const organizationId of organizations) {
        await fillQueue(db, Math.ceil(4_100 / count) + 20, { organizationId });
      }
      const taken = (await claimRounds(40)).flat();
      expect(taken).toHaveLength(4_000);
      const shares = organizations.map((id) => countBy(taken, 'organizationId').get(id) ?? 0);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(4);
    });

    it.each([2, 40, 100])('%i take shares by weight', async (count) => {
      const organizations = Array.from({ length: count }, newId);
      const weightAt = (n: number) => 1 + (n % 5);
      const all = organizations.reduce((sum, _id, n) => sum + weightAt(n), 0);
      for (const organizationId of organizations) {
        await fillQueue(db, Math.ceil(20_000 / count) + 20, { organizationId });
      }
      const weights = new Map(organizations.map((id, n) => [id, weightAt(n)]));
      const taken = countBy((await claimRounds(60, { weights })).flat(), 'organizationId');
      for (const [n, id] of organizations.entries()) {
        const wanted = (6_000 * weightAt(n)) / all;
        expect(Math.abs((taken.get(id) ?? 0) - wanted)).toBeLessThanOrEqual(4 * weightAt(n));
      }
    });

    it('one that has just called is served beside a claim for others, and no other is', async () => {
      const [noisy, quiet, idle] = [newId(), newId(), newId()];
      await fillQueue(db, 2_000, { organizationId: noisy });
      const claimer = new Claimer(queue, NO_WEIGHTS, openPlanner(clock), clock);
      await claimer.claim(sessionId, { limit: 10 });
      await fillQueue(db, 3, { organizationId: quiet });
      const { claims, mayBeMore } = await claimer.claimOnlyFor(sessionId, [quiet]);
      expect(claims.map(({ organizationId }) => organizationId)).toEqual([quiet, quiet, quiet]);
      expect(mayBeMore).toBe(false);
      // Of one whose mail is not found, the next claim has to look.
      expect(await claimer.claimOnlyFor(sessionId, [idle])).toEqual({ claims: [], mayBeMore: true });
      expect((await claimer.claimOnlyFor(sessionId, [noisy])).mayBeMore).toBe(true);
    });

    /** As many organizations with one delivery each, all to one destination. */
    const fillTenants = (count: number, destination: string) =>
      db.query(
        `insert into deliveries (
          organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at, first_due_at
        )
        select gen_random_uuid(), 'live', gen_random_uuid(), 0, gen_random_uuid(), 'r@' || $1::text, $1, 'bulk', 'ready', now(),
          now()
        from generate_series(1, $2::int)`,
        [destination, count],
      );

    it('serves one behind thousands that are held back, a bounded walk at a time', async () => {
      await fillTenants(2_000, 'slow.example');
      const free = newId();
      await fillQueue(db, 3, { organizationId: free, destination: 'fast.example' });
      const walk = { afterOrganizationId: newId(), mostFound: 32, mostSeen: 100 };
      const seen = await queue.findReadyTenants({ ...walk, filter: { blocked: ['slow.example', 'fast.example'] } });
      expect(seen).toEqual([{ organizationId: expect.any(String), hasWork: false, step: 100 }]);
      const [taken = []] = await claimRounds(1, { blocked: ['slow.example'] });
      expect([...countBy(taken, 'organizationId')]).toEqual([[free, 3]]);
      expect(await claimRounds(1, { blocked: ['slow.example', 'fast.example'] })).toEqual([[]]);
    });

    it('reaches in its next look what lies beyond all that one look may walk', async () => {
      await fillTenants(12_000, 'slow.example');
      const last = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
      await fillQueue(db, 3, { organizationId: last, destination: 'fast.example' });
      const [first = [], second = []] = await claimRounds(2, { blocked: ['slow.example'] });
      expect(first).toEqual([]);
      expect([...countBy(second, 'organizationId')]).toEqual([[last, 3]]);
    });

    it('what one worker holds back another takes, and the first takes the rest', async () => {
      const organizations = Array.from({ length: 40 }, newId);
      for (const organizationId of organizations) {
        await fillQueue(db, 5, { organizationId, destination: 'held-back.example' });
        await fillQueue(db, 5, { organizationId, destination: 'other.example' });
      }
      const one = (await claimRounds(4, { blocked: ['held-back.example'] })).flat();
      expect([...countBy(one, 'destination')]).toEqual([['other.example', 200]]);
      const another = (await claimRounds(4)).flat();
      expect([...countBy(another, 'destination')]).toEqual([['held-back.example', 200]]);
    });

    it('many destinations are no larger share', async () => {
      const wide = newId();
      const narrow = Array.from({ length: 9 }, newId);
      for (const n of numbered(60)) await fillQueue(db, 20, { organizationId: wide, destination: `d${n}.example` });
      for (const organizationId of narrow) await fillQueue(db, 200, { organizationId });
      const taken = countBy(await claim(), 'organizationId');
      expect([...taken.values()]).toEqual(Array.from({ length: 10 }, () => 10));
      // Not even when a share is smaller than the number of destinations.
      const few = countBy(await claim({ limit: 20 }), 'organizationId');
      expect([...few.values()]).toEqual(Array.from({ length: 10 }, () => 2));
    });

    it('those whose destinations are all blocked do not hide the others', async () => {
      const held = Array.from({ length: 40 }, newId);
      const free = newId();
      for (const organizationId of held) await fillQueue(db, 5, { organizationId, destination: 'slow.example' });
      await fillQueue(db, 5, { organizationId: free, destination: 'fast.example' });
      const taken = (await claimRounds(1, { blocked: ['slow.example'] })).flat();
      expect([...countBy(taken, 'organizationId')]).toEqual([[free, 5]]);
    });

    it('one alone takes everything', async () => {
      await fillQueue(db, 300, {});
      expect((await claim()).length).toBe(100);
    });
  });

  describe('among destinations', () => {
    it('take equal shares of their organization', async () => {
      const organizationId = newId();
      await fillQueue(db, 10_000, { organizationId, destination: 'a.example' });
      for (const destination of ['b.example', 'c.example', 'd.example']) {
        await fillQueue(db, 50, { organizationId, destination });
      }
      const taken = countBy(await claim(), 'destination');
      expect([...taken.values()]).toEqual([25, 25, 25, 25]);
    });

    it('serves the longest due first', async () => {
      const organizationId = newId();
      await fillQueue(db, 10, { organizationId, dueAt: new Date('2026-01-02') });
      await fillQueue(db, 10, { organizationId, dueAt: new Date('2026-01-01') });
      const taken = await claim({ limit: 10 });
      expect(new Set(taken.map((row) => row.firstDueAt.toISOString()))).toEqual(new Set(['2026-01-01T00:00:00.000Z']));
    });

    it.each([
      ['alone', 0],
      ['beside many organizations', 40],
    ])('all of them have their turn, also with one beginning of the name (%s)', async (_name, others) => {
      const organizationId = newId();
      for (const n of numbered(90)) await fillQueue(db, 60, { organizationId, destination: `mx${n}.example` });
      for (const id of Array.from({ length: others }, newId)) {
        for (const n of numbered(5)) await fillQueue(db, 200, { organizationId: id, destination: `${n}.example` });
      }
      const rounds = others === 0 ? 12 : 200;
      const mine = (await claimRounds(rounds)).flat().filter((row) => row.organizationId === organizationId);
      expect(countBy(mine, 'destination').size).toBe(90);
    });

    it('a place to begin is a place to begin, not a border', async () => {
      const organizationId = newId();
      for (const n of numbered(10)) await fillQueue(db, 10, { organizationId, destination: `d${n}.example` });
      const taken = await claim({ cursor: 'd004.example', limit: 100 });
      expect([...countBy(taken, 'destination').values()]).toEqual(Array.from({ length: 10 }, () => 10));
      const [next] = await claim({ cursor: 'zz', limit: 1 });
      expect(next).toBeUndefined();
    });

    it('a receiver with thousands of them that is held back makes no claim large, and hides no other', async () => {
      const [many, organizationId] = [12_000, newId()];
      const slots = new WorkerSlots(clock, { slots: 50, sharedHop: false, connectionsPerHost: 20 });
      const planner = new ClaimPlanner(slots, { slots: 50, startConcurrency: 2 }, clock);
      for (let n = 0; n < many; n += 1) slots.learnGroup(`d${n}.example`, { group: 'mx.big.example', hosts: [] });
      const first = { organizationId, destination: 'd0.example' };
      slots.give(slots.take(first, ['mx.big.example']), 'suspended', 'listed');
      await db.query(
        `insert into deliveries (
          organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at, first_due_at
        )
        select $1, 'live', gen_random_uuid(), 0, $1, 'r@x', 'd' || n || '.example', 'bulk', 'ready', now(), now()
        from generate_series(0, $2::int - 1) n`,
        [organizationId, many],
      );
      await fillQueue(db, 9, { organizationId, destination: 'd2x.example' });
      const { sent, read, watched } = watch();
      const claimer = new Claimer(new DeliveryQueueRepository(watched), NO_WEIGHTS, planner, clock);
      const taken: ClaimedDelivery[] = [];
      for (let round = 0; round < 4; round += 1) {
        taken.push(...(await claimer.claimNext(sessionId)));
        expect(sum(read)).toBeLessThan(10_000);
        read.clear();
      }
      const [found, ...others] = countBy(taken, 'destination');
      expect([found?.[0], others]).toEqual(['d2x.example', []]);
      expect(Math.max(...sent)).toBeLessThan(2_000);
      // Nor does any of the claim go to a tenant that has nothing else.
      const other = newId();
      await fillQueue(db, 200, { organizationId: other, destination: 'd3x.example' });
      const unbounded = new ClaimPlanner(slots, { slots: 50, startConcurrency: 99 }, clock);
      unbounded.roomOf = (key) => ({ key, limit: key === 'd3x.example' ? 99 : 0 });
      const limited = new Claimer(queue, NO_WEIGHTS, unbounded, clock);
      expect(await limited.claim(sessionId, { limit: 40 })).toHaveLength(40);
    });

    it('leaves out the blocked ones', async () => {
      const organizationId = newId();
      const destinations = numbered(60).map((n) => `d${n}.example`);
      for (const destination of destinations) await fillQueue(db, 5, { organizationId, destination });
      const free = destinations.slice(40, 43);
      const blocked = destinations.filter((destination) => !free.includes(destination));
      const taken = countBy(await claim({ filter: { blocked } }), 'destination');
      expect([...taken.keys()].sort()).toEqual(free);
      expect(sum(taken)).toBe(15);
      expect(await claim({ filter: { blocked: destinations } })).toEqual([]);
    });
  });

  describe('transactional mail', () => {
    const old = new Date('2026-01-01');
    let organizationId: string;
    beforeEach(async () => {
      organizationId = newId();
      await fillQueue(db, 5_000, { organizationId, category: 'bulk', dueAt: old });
    });

    it('goes before bulk mail to the same destination, however long that has waited', async () => {
      await fillQueue(db, 5, { organizationId, category: 'transactional' });
      const [first = []] = await claimRounds(1, { limit: 10 });
      expect(countBy(first, 'category').get('transactional')).toBe(5);
      // Nothing is left unused.
      expect(first).toHaveLength(10);
    });

    it.each([1, 4, 10, 100])('leaves a tenth to bulk mail, in claims of %i', async (limit) => {
      await fillQueue(db, 3_000, { organizationId, category: 'transactional' });
      const rounds = Math.ceil(1_000 / limit);
      const taken = (await claimRounds(rounds, { limit })).flat();
      expect(taken).toHaveLength(rounds * limit);
      const bulk = countBy(taken, 'category').get('bulk') ?? 0;
      // By chance where a claim is too small for a tenth: five standard deviations.
      expect(bulk).toBeGreaterThanOrEqual(50);
      expect(bulk).toBeLessThanOrEqual(150);
    });

    it('takes nothing twice where the tenth and the rest are both bulk', async () => {
      const quotas = [{ organizationId, destination: 'example.com', most: 50 }];
      const input = claimInput(sessionId, { quotas, bulkRounding: 0.99 });
      expect(await queue.claim(input)).toHaveLength(50);
    });
  });

  describe('a notification', () => {
    let signals: WorkSignal[];

    beforeEach(async () => {
      signals = [0, 1, 2].map(() => new WorkSignal(new DatabaseUrl(db.url), new WorkerWaker(queue)));
      for (const [rank, signal] of signals.entries()) {
        signal.setRank({ workers: 3, rank });
        signal.start();
        // The first call is that it listens.
        await signal.wait(60_000);
        signal.takeCalled();
      }
    });
    afterEach(() => Promise.all(signals.map((signal) => signal.stop())));

    /** The tenants of the notifications until the last one. */
    async function heard(signal: WorkSignal, last: string): Promise<Set<string>> {
      const ids = new Set<string>();
      while (!ids.has(last)) {
        await signal.wait(60_000);
        for (const id of signal.takeCalled().organizationIds ?? []) ids.add(id);
      }
      return ids;
    }

    it.each([
      [1, 1],
      [50, 1],
      [51, 2],
      [1_000, 3],
      [Infinity, 3],
    ])('of %d deliveries calls %i of three workers', async (count, wanted) => {
      const [work, last] = [newId(), newId()];
      await queue.notify({ count, organizationIds: new Set([work]) });
      await queue.notify({ count: Infinity, organizationIds: new Set([last]) });
      const all = await Promise.all(signals.map((signal) => heard(signal, last)));
      expect(all.filter((ids) => ids.has(work))).toHaveLength(wanted);
    });

    it('to a worker that takes nothing more is passed on to all', async () => {
      const work = newId();
      signals[1]?.leave();
      for (let told = false; !told;) {
        await queue.notify({ count: 1, organizationIds: new Set([work]) });
        const last = newId();
        await queue.notify({ count: Infinity, organizationIds: new Set([last]) });
        const others = signals.filter((_signal, rank) => rank !== 1);
        told = (await Promise.all(others.map((signal) => heard(signal, last)))).every((ids) => ids.has(work));
      }
    });
  });

  it('never claims more than requested, and never less than one of each while there is room', async () => {
    const organizations = Array.from({ length: 12 }, newId);
    for (const organizationId of organizations) {
      for (const n of numbered(7)) await fillQueue(db, 40, { organizationId, destination: `d${n}.example` });
    }
    for (const limit of [1, 5, 12, 13, 50, 84, 99]) {
      const taken = await claim({ limit, cursor: 'd003.example' });
      expect(taken.length).toBe(limit);
      const shares = [...countBy(taken, 'organizationId').values()];
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      expect(shares.length).toBe(Math.min(limit, 12));
    }
  });
});
