import { DAY, MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import type { ClaimedDelivery, MailCategory } from '../../../src/delivery/ports/delivery';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { claimDeliveries } from '../../../src/delivery/queue/sql/claim-deliveries.sql';
import type { NewDelivery } from '../../../src/delivery/queue/sql/open-deliveries.sql';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import { claimInput, claimShares, countBy, keyOf, newDelivery, type ShareInput } from '../../factories/deliveries';
import { type OpenTestDatabase, openTestDatabase, statement } from '../../setup/open-test-database';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const before = (minutes: number) => new Date(NOW.getTime() - minutes * MINUTE);

/** The statement by itself, in small queues: who gets how much, of whom, in what order. */
describe('one claim', () => {
  let db: OpenTestDatabase;
  let queue: DeliveryQueueRepository;
  let sessionId: string;
  let one: string;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 3 });
    queue = new DeliveryQueueRepository(db.database);
  });
  beforeEach(async () => {
    await db.query('truncate deliveries, worker_sessions');
    [sessionId, one] = [newId(), newId()];
    await new WorkerSessionsRepository(db.database, db.database).begin(sessionId, 'host', 1, 300);
  });
  afterAll(() => db.drop());

  async function fill(count: number, fields: Partial<NewDelivery> = {}): Promise<NewDelivery[]> {
    const rows = Array.from({ length: count }, () => newDelivery({ organizationId: one, dueAt: NOW, ...fields }));
    await db.database.transaction((tx) => Promise.resolve(queue.enqueue(rows, NOW, tx)));
    return rows;
  }

  async function fillEach(destinations: string, count: number, fields: Partial<NewDelivery> = {}): Promise<void> {
    for (const destination of destinations) await fill(count, { ...fields, destination });
  }

  const claim = (share: number, fields: Omit<ShareInput, 'shares'> = {}, cursor = '') =>
    claimShares(db, sessionId, { shares: [{ organizationId: one, share, cursor }], now: NOW, ...fields });

  /** The statement by itself, for the one destination that mail goes to by default. */
  const input = (most: number) =>
    claimInput(sessionId, { quotas: [{ organizationId: one, destination: 'example.com', most }], now: NOW });

  const counts = (claims: readonly ClaimedDelivery[]) => Object.fromEntries([...countBy(claims, 'destination')].sort());

  it('shares equally among destinations, and gives the remainder to the first ones', async () => {
    await fillEach('abcd', 10);
    expect(counts(await claim(10))).toEqual({ a: 3, b: 3, c: 2, d: 2 });
    expect(counts(await claim(4))).toEqual({ a: 1, b: 1, c: 1, d: 1 });
    expect(counts(await claim(2))).toEqual({ a: 1, b: 1 });
  });

  it('begins behind the cursor, and comes round to it', async () => {
    await fillEach('abcd', 10);
    expect(counts(await claim(1, {}, 'b'))).toEqual({ c: 1 });
    expect(counts(await claim(3, {}, 'b'))).toEqual({ a: 1, c: 1, d: 1 });
    expect(counts(await claim(4, {}, 'b'))).toEqual({ a: 1, b: 1, c: 1, d: 1 });
    expect(counts(await claim(1, {}, 'd'))).toEqual({ a: 1 });
  });

  it('looks at 32 destinations at most', async () => {
    for (let n = 0; n < 34; n += 1) await fill(3, { destination: `d${String(n).padStart(2, '0')}` });
    const taken = counts(await claim(96));
    expect(Object.keys(taken)).toHaveLength(32);
    expect(Object.values(taken)).toEqual(Array.from({ length: 32 }, () => 3));
  });

  it('gives each organization its own share', async () => {
    const other = newId();
    await fillEach('ab', 9);
    await fillEach('ab', 9, { organizationId: other });
    const shares = [one, other].map((organizationId, n) => ({ organizationId, share: 3 + 2 * n, cursor: '' }));
    const taken = await claimShares(db, sessionId, { shares, now: NOW });
    const of = (id: string) => counts(taken.filter(({ organizationId }) => organizationId === id));
    expect([of(one), of(other)]).toEqual([
      { a: 2, b: 1 },
      { a: 3, b: 2 },
    ]);
  });

  /** By reading the whole table, in the order in which its rows were made. */
  const claimBySequence = (share: number) =>
    db.database.transaction(async (tx) => {
      const settings = ['plan_cache_mode = force_custom_plan', 'enable_seqscan = on', 'enable_indexscan = off'];
      for (const setting of [...settings, 'enable_bitmapscan = off']) await tx.run(statement(`set local ${setting}`));
      return tx.run(claimDeliveries(input(share)));
    });

  it.each([
    ['by the index', claim],
    ['without it', claimBySequence],
  ])('takes the longest due first, then by email and recipient (%s)', async (_how, claimSome) => {
    const emailId = '00000000-0000-4000-8000-000000000000';
    const [late] = await fill(1, { dueAt: before(1) });
    const [second] = await fill(1, { dueAt: before(2), emailId, position: 1 });
    const [first] = await fill(1, { dueAt: before(2), emailId, position: 0 });
    const [third] = await fill(1, { dueAt: before(2) });
    const [earliest] = await fill(1, { dueAt: before(3) });
    const order: string[] = [];
    for (let round = 0; round < 5; round += 1) order.push(...(await claimSome(1)).map(keyOf));
    expect(order).toEqual([earliest, first, second, third, late].map((row) => keyOf(row as NewDelivery)));
  });

  it.each([
    // A tenth of 20, of 9, of 1, rounded by chance.
    [20, 0, 2],
    [20, 0.99, 2],
    [9, 0.09, 0],
    [9, 0.11, 1],
    [1, 0.89, 0],
    [1, 0.91, 1],
  ])('of %i keeps a tenth for bulk mail, with the chance %d: %i', async (share, bulkRounding, wanted) => {
    for (const category of ['bulk', 'transactional'] as const) await fill(30, { category });
    const taken = await claim(share, { bulkRounding });
    expect([taken.length, countBy(taken, 'category').get('bulk') ?? 0]).toEqual([share, wanted]);
  });

  it.each<[MailCategory, number, number]>([
    ['transactional', 30, 3],
    ['transactional', 7, 7],
    ['bulk', 30, 13],
  ])('leaves nothing over when there is little of the other kind (%s, %i)', async (category, many, few) => {
    const other = category === 'bulk' ? 'transactional' : 'bulk';
    await fill(many, { category });
    await fill(few, { category: other });
    const taken = await claim(many + few - 1);
    expect(taken).toHaveLength(many + few - 1);
    expect(new Set(taken.map(keyOf)).size).toBe(many + few - 1);
  });

  it('takes no more of a destination than it may have, known or not', async () => {
    await fillEach('abcd', 10);
    const limits: Record<string, number> = { a: 1, b: 0, c: 99 };
    const roomOf = (key: string) => ({ key, limit: limits[key] ?? 2 });
    expect(counts(await claim(20, { roomOf }))).toEqual({ a: 1, c: 7, d: 2 });
  });

  it('takes no more of a group in all than it may have, however many destinations it has', async () => {
    await fillEach('abcd', 10);
    const roomOf = (name: string) => (name === 'd' ? { key: 'd', limit: 9 } : { key: 'mx', limit: 2 });
    expect(counts(await claim(20, { roomOf }))).toEqual({ a: 1, b: 1, d: 6 });
  });

  it('leaves out blocked destinations, and of some organizations all but proven ones', async () => {
    const other = newId();
    await fillEach('abc', 5);
    await fillEach('abc', 5, { organizationId: other });
    const shares = [one, other].map((organizationId) => ({ organizationId, share: 6, cursor: '' }));
    const provenOnly = { organizationIds: [one], destinations: ['b'] };
    const taken = await claimShares(db, sessionId, { shares, now: NOW, filter: { blocked: ['c'], provenOnly } });
    const of = (id: string) => counts(taken.filter(({ organizationId }) => organizationId === id));
    expect([of(one), of(other)]).toEqual([{ b: 5 }, { a: 3, b: 3 }]);
  });

  it('looks up proven destinations that have work, each once, in order from the cursor on', async () => {
    await fillEach('ace', 2);
    await fillEach('b', 2, { organizationId: newId() });
    await fill(1, { destination: 'd', dueAt: new Date(NOW.getTime() + 1) });
    const filter = { blocked: [], provenOnly: { organizationIds: [one], destinations: [...'edbcac'] } };
    const seen = async (cursor: string, width: number) =>
      (await queue.findReadyDestinations([{ organizationId: one, cursor, width }], filter)).map(
        (row) => row.destination,
      );
    expect(await seen('a', 9)).toEqual(['c', 'e', 'a']);
    expect(await seen('', 2)).toEqual(['a', 'c']);
  });

  it('takes only what is ready, and only of the requested tenants', async () => {
    await fill(1, { dueAt: new Date(NOW.getTime() + 1) });
    await fill(1, { organizationId: newId() });
    const [mine] = await fill(1);
    expect((await claim(9)).map(keyOf)).toEqual([keyOf(mine as NewDelivery)]);
    expect(await claim(9)).toEqual([]);
    const states = await db.query('select state from deliveries order by state');
    expect(states.map(({ state }) => state)).toEqual(['claimed', 'ready', 'waiting']);
  });

  it('claims one recipient of one email in one mode: the rest of the key counts', async () => {
    const emailId = newId();
    await fill(1, { emailId, position: 0, dueAt: before(9) });
    const rest = [
      { emailId, position: 1 },
      { emailId, position: 0, mode: 'test' as const },
      { emailId, position: 0, organizationId: newId() },
      { emailId: newId(), position: 0 },
    ];
    for (const fields of rest) await fill(1, fields);
    expect(await claim(1)).toMatchObject([{ emailId, position: 0, mode: 'live', organizationId: one }]);
    expect(await db.query(`select from deliveries where state = 'ready'`)).toHaveLength(4);
  });

  it('notes the session, the attempt and the moment', async () => {
    await fill(1);
    const [claimed] = await claim(1);
    expect(claimed).toMatchObject({ sessionId, attempt: 1, claimToken: 1 });
    const [row] = await db.query('select state, session_id, attempt, claim_token, claimed_at from deliveries');
    expect(row).toEqual({
      ...{ state: 'claimed', session_id: sessionId, attempt: 1, claim_token: 1, claimed_at: NOW },
    });
  });

  it('takes nothing for a session that has ended, or that is another one', async () => {
    await fill(1);
    expect(await queue.claim({ ...input(1), sessionId: newId() })).toEqual([]);
    await db.query(`update worker_sessions set lease_until = now() - interval '1 microsecond'`);
    expect(await claim(1)).toEqual([]);
    await db.query(`update worker_sessions set lease_until = now() + interval '1 hour'`);
    expect(await claim(1)).toHaveLength(1);
  });

  it('passes over rows that another claim holds, without waiting for it', async () => {
    const rows = await fill(4, { dueAt: new Date(NOW.getTime() - DAY) });
    const [held, taken] = await db.database.transaction(async (tx) => {
      const first = await tx.run(claimDeliveries(input(2)));
      const second = await db.database.transaction(async (other) => {
        await other.run(statement(`set local lock_timeout = '2s'`));
        return other.run(claimDeliveries(input(2)));
      });
      return [first, second];
    });
    expect([held.length, taken.length]).toEqual([2, 2]);
    expect([...held, ...taken].map(keyOf).sort()).toEqual(rows.map(keyOf).sort());
  });
});
