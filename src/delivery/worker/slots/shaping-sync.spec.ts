import { FakeClock } from '../../../../test/doubles/fake-clock';
import type { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import type { Settlement } from '../../ports/outcome';
import type { DestinationsRepository, ReportedGroup, WantedRule } from '../../shaping/destinations.repository';
import { SharedHop } from './shared-hop';
import { ShapingSync } from './shaping-sync.job';
import type { WorkSignal } from '../session/work-signal';
import type { WorkerSession } from '../session/worker-session';
import type { WorkerSlots } from './worker-slots';

const KEY = 'mx.example.net';

/** One that reports to a database which is away until `comeBack`; `learned` is what the worker knows of the group. */
function setUp(learned: { loadOf: () => { limit: number; active: number }; lastChange: () => unknown }) {
  const told: WantedRule[] = [];
  const reported: ReportedGroup[] = [];
  let statementsLeft = 0;
  const session = { id: 'worker' as string | undefined, onBegin: () => undefined };
  const whenThere = (work: () => void) =>
    (statementsLeft -= 1) < 0 ? Promise.reject(new Error('away')) : Promise.resolve(work());
  const destinations = {
    report: (_session: string, groups: ReportedGroup[]) => whenThere(() => reported.push(...groups)),
    findShared: () => Promise.resolve({ changes: [], peers: undefined, rules: [] }),
    writeLearned: (_session: string, rules: WantedRule[]) => whenThere(() => told.push(...rules)),
  } as unknown as DestinationsRepository;
  const sync = new ShapingSync(
    destinations,
    {
      ...{ learned, isSharedHop: false, hop: new SharedHop(new FakeClock()), loads: () => [] },
      heldAt: () => learned.loadOf().active,
    } as unknown as WorkerSlots,
    session as unknown as WorkerSession,
    {} as WorkSignal,
    {} as PeriodicJobs,
    new FakeClock(),
  );
  return { sync, session, told, reported, comeBack: (forStatements = Infinity) => (statementsLeft = forStatements) };
}

it('what a worker has learned of a reply is told once the database is back, without addresses', async () => {
  const { sync, told, reported, comeBack } = setUp({
    loadOf: () => ({ limit: 4, active: 3 }),
    lastChange: () => undefined,
  });
  const smtp = { code: 421, response: '421 4.7.0 too many connections from your host for <ada@example.com>' };
  sync.begin(KEY, 'example.com', { kind: 'hosts', hosts: [] } as never);
  sync.end(KEY, { outcomes: [{ outcome: { kind: 'deferred', smtp } }] } as unknown as Settlement, 'throttled');
  await sync.sync();
  expect(told).toEqual([]);
  comeBack();
  await sync.sync();
  await sync.sync();
  const words = '421 4.7.0 too many connections from your host for <[address]>';
  expect(told).toMatchObject([{ key: KEY, source: 'reply', effect: 'max_connections', value: 2, cause: words }]);
  expect(reported.at(-1)).toMatchObject({ key: KEY, lastResponse: words, perMinute: 1 });
});

it('what was under way is corrected also when what was learned at the same time could not be told', async () => {
  let active = 3;
  const { sync, reported, comeBack } = setUp({ loadOf: () => ({ limit: 4, active }), lastChange: () => undefined });
  const smtp = { code: 421, response: '421 4.7.0 too many connections from your host' };
  sync.end(KEY, { outcomes: [{ outcome: { kind: 'deferred', smtp } }] } as unknown as Settlement, 'throttled');
  // Goes away again right after the report.
  comeBack(1);
  await sync.sync();
  active = 0;
  comeBack();
  await sync.sync();
  expect(reported.map((group) => group.active)).toEqual([3, 0]);
});

it('the words of an address or a domain that a reply quotes teach nothing', async () => {
  const { sync, told, comeBack } = setUp({ loadOf: () => ({ limit: 4, active: 3 }), lastChange: () => undefined });
  comeBack();
  for (const quoted of ['<rate-limit@example.com>', 'domain slow-down.example']) {
    const smtp = { code: 550, phase: 'rcpt', response: `550 5.7.1 ${quoted}: blocked, see https://lists.example/` };
    sync.end(KEY, { outcomes: [{ outcome: { kind: 'deferred', smtp } }] } as unknown as Settlement, 'suspended');
  }
  await sync.sync();
  expect(told).toEqual([]);
  const smtp = {
    code: 421,
    phase: 'mail',
    response: '421 4.7.0 slow down',
    lines: ['421-4.7.0 too many', '421 messages'],
  };
  sync.end(KEY, { outcomes: [{ outcome: { kind: 'deferred', smtp } }] } as unknown as Settlement, 'throttled');
  await sync.sync();
  expect(told).toMatchObject([{ effect: 'rate_per_minute' }]);
});

it('a pause that was found while the database was away is told once it is back, without a further attempt', async () => {
  const change = { pausedForMs: 60_000, pauses: 1, limit: 1, cause: 'suspended', agoMs: 0 };
  const { sync, reported, comeBack } = setUp({
    loadOf: () => ({ limit: 1, active: 0 }),
    lastChange: () => change,
  });
  const smtp = { code: 554, response: '554 5.7.1 blocked' };
  sync.end(KEY, { outcomes: [{ outcome: { kind: 'deferred', smtp } }] } as unknown as Settlement, 'neutral');
  await sync.sync();
  comeBack();
  await sync.sync();
  expect(reported).toMatchObject([{ key: KEY, pausedForMs: 60_000, pauses: 1 }]);
  await sync.sync();
  expect(reported).toHaveLength(1);
});

it('a word to workers is heeded once, and forgotten with its rule', async () => {
  const word = {
    id: '1',
    key: KEY,
    source: 'operator',
    effect: 'resumed',
    value: null,
    cause: 'over',
    until: null,
    agoMs: 5,
  };
  let rules = [word];
  const destinations = {
    ...{
      report: () => Promise.resolve(),
      writeLearned: () => Promise.resolve(),
      confirmPeers: () => Promise.resolve(),
    },
    findShared: () => Promise.resolve({ changes: [], peers: { ids: ['worker'], isAgreed: true }, rules }),
  } as unknown as DestinationsRepository;
  const heeded: unknown[] = [];
  const learned = { loadOf: () => ({ limit: 0, active: 0 }), adopt: (...word: unknown[]) => heeded.push(word) };
  const slots = {
    learned,
    isSharedHop: false,
    hop: new SharedHop(new FakeClock()),
    loads: () => [],
    setBounds: () => undefined,
  };
  const sync = new ShapingSync(
    destinations,
    slots as unknown as WorkerSlots,
    { id: 'worker', onBegin: () => undefined } as unknown as WorkerSession,
    { setRank: () => undefined } as unknown as WorkSignal,
    {} as PeriodicJobs,
    new FakeClock(),
  );
  await sync.sync();
  await sync.sync();
  expect(heeded).toEqual([[KEY, { pausedForMs: 0, pauses: 0, limit: 1 }, 5]]);
  rules = [];
  await sync.sync();
  rules = [word];
  await sync.sync();
  expect(heeded).toHaveLength(2);
});

it('goes on while a stopping worker finishes what is under way, until its session ends', () => {
  jest.useFakeTimers();
  const { sync, session } = setUp({ loadOf: () => ({ limit: 4, active: 3 }), lastChange: () => undefined });
  const runs = jest.spyOn(sync, 'sync').mockResolvedValue();
  sync.onModuleDestroy();
  jest.advanceTimersByTime(10_000);
  expect(runs).toHaveBeenCalledTimes(5);
  session.id = undefined;
  jest.advanceTimersByTime(10_000);
  expect(runs).toHaveBeenCalledTimes(5);
  expect(jest.getTimerCount()).toBe(0);
});
