import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import type { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import type { DestinationsRepository, ReportedGroup } from '../../shaping/destinations.repository';
import type { WorkSignal } from '../session/work-signal';
import type { WorkerSession } from '../session/worker-session';
import { ShapingSync } from './shaping-sync.job';
import { type Ticket, WorkerSlots } from './worker-slots';

const KEY = 'mx.example.net';
/** Turns of a worker's statements in which a whole exchange ends. */
const STEPS = 12;
const TURNS = { sync: 0, part: 4, whole: STEPS };

/** The database of some workers, and what they have under way at one group with a limit. */
class Fleet {
  readonly clock = new FakeClock();
  readonly workers: Peer[] = [];
  readonly sessions = new Map<string, { isLive: boolean; peers: string }>();
  readonly reports = new Map<string, number>();

  constructor(readonly limit: number) {}

  get active(): number {
    return this.workers.reduce((sum, { tickets }) => sum + tickets.length, 0);
  }

  join(at: number): void {
    const number = this.workers.length;
    this.workers.push(new Peer(this, `${(number * 3 + at) % 5}-${number}`));
  }

  ids(own: string): string[] {
    return [...this.sessions].flatMap(([id, { isLive }]) => (isLive || id === own ? [id] : [])).sort();
  }
}

/** One worker, whose every statement waits twice for its turn: to be run, and to be replied to. */
class Peer {
  readonly tickets: Ticket[] = [];
  readonly slots: WorkerSlots;
  isDead = false;
  private syncing = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly sync: ShapingSync;

  constructor(
    fleet: Fleet,
    readonly id: string,
  ) {
    const { clock, limit, sessions, reports } = fleet;
    this.slots = new WorkerSlots(clock, { slots: 100, startConcurrency: 20, sharedHop: false, connectionsPerHost: 50 });
    sessions.set(id, { isLive: true, peers: '' });
    const rules = [{ id: '1', key: KEY, source: 'operator', effect: 'max_connections', value: limit, agoMs: 0 }];
    const others = () => fleet.ids(id).filter((other) => other !== id);
    const ids = () => fleet.ids(id);
    const destinations = {
      report: this.statement((_id: string, groups: ReportedGroup[]) =>
        groups.forEach(({ key, active }) => reports.set(`${id} ${key}`, active)),
      ),
      findShared: this.statement(() => {
        const isAgreed = others().every((other) => sessions.get(other)?.peers === ids().join());
        return { changes: [], peers: { ids: ids(), isAgreed }, rules };
      }),
      othersActive: this.statement(() =>
        others().map((sessionId) => ({ key: KEY, sessionId, active: reports.get(`${sessionId} ${KEY}`) ?? 0 })),
      ),
      confirmPeers: this.statement(
        (_id: string, peers: string[]) => ((sessions.get(id) as { peers: string }).peers = peers.join()),
      ),
      writeLearned: () => Promise.resolve(),
    };
    this.sync = new ShapingSync(
      destinations as unknown as DestinationsRepository,
      this.slots,
      { id, onBegin: () => undefined } as unknown as WorkerSession,
      { setRank: () => undefined } as unknown as WorkSignal,
      {} as PeriodicJobs,
      clock,
    );
    // As before its first claim: it has no attempt without a part.
    this.startSync();
  }

  private statement<Args extends unknown[], Row>(run: (...args: Args) => Row): (...args: Args) => Promise<Row> {
    const turn = () => new Promise<void>((resolve) => this.waiting.push(resolve));
    return async (...args) => {
      await turn();
      const row = run(...args);
      await turn();
      return row;
    };
  }

  startSync(most = 1): void {
    if (this.syncing >= most) return;
    this.syncing += 1;
    void this.sync.sync().then(() => (this.syncing -= 1));
  }

  /** The youngest statement goes on: what was read before it must not count after it. */
  async step(): Promise<void> {
    this.waiting.pop()?.();
    await nextTurn();
  }

  /** As much as it may. */
  begin(): void {
    const candidate = { organizationId: 'a', destination: KEY };
    const hosts = [{ hostName: KEY, addresses: [], preference: 1 }];
    // Nothing is claimed before its first exchange.
    while (this.slots.isLimited(KEY) && this.slots.refusalOf(candidate, [KEY]) === undefined) {
      this.sync.begin(KEY, KEY, { kind: 'hosts', hosts, port: 25, final: true });
      this.tickets.push(this.slots.take(candidate, [KEY]));
    }
  }

  end(): void {
    const ticket = this.tickets.pop();
    if (ticket) this.slots.give(ticket, 'success');
  }

  die(): void {
    this.isDead = true;
    this.tickets.length = 0;
  }
}

describe('workers that share a limit', () => {
  const OFTEN = ['whole', 'whole', 'part', 'begin', 'begin', 'end'] as const;
  const ACTS = [...OFTEN, ...OFTEN, 'sync', 'join', 'die', 'expire'] as const;
  /** The first begins more after it has reported, and before it knows of the second. */
  const REPORTED_TOO_EARLY: [(typeof ACTS)[number], number][] = [
    ...([
      ['whole', 0],
      ['join', 2],
      ['whole', 1],
      ['part', 0],
      ['begin', 0],
    ] as const),
    ...([
      ['part', 0],
      ['whole', 1],
      ['begin', 1],
    ] as const),
  ].map(([name, at]) => [name, at]);
  const commands = fc.array(fc.tuple(fc.constantFrom(...ACTS), fc.nat(4)), {
    minLength: 40,
    maxLength: 200,
    size: 'max',
  });

  const act = async (fleet: Fleet, name: (typeof ACTS)[number], at: number): Promise<void> => {
    fleet.clock.advance(1_000);
    const worker = fleet.workers[at % Math.max(1, fleet.workers.length)];
    if (name === 'join' && fleet.workers.length < 5) fleet.join(at);
    if (worker === undefined) return;
    const session = fleet.sessions.get(worker.id);
    if (name === 'expire' && worker.isDead && session) session.isLive = false;
    if (worker.isDead) return;
    if (name === 'sync' || name === 'part' || name === 'whole') {
      worker.startSync(name === 'sync' ? 2 : 1);
      for (let left = TURNS[name]; left > 0; left -= 1) await worker.step();
    } else if (name !== 'join' && name !== 'expire') worker[name]();
  };

  /** Every worker that lives is heard, in turn, and nothing is under way. */
  const settle = async (fleet: Fleet): Promise<void> => {
    const alive = fleet.workers.filter(({ isDead }) => !isDead);
    for (const { id, isDead } of fleet.workers) if (isDead) fleet.sessions.set(id, { isLive: false, peers: '' });
    for (const worker of alive) while (worker.tickets.length > 0) worker.end();
    fleet.clock.advance(10_000);
    for (let turn = 0; turn < 4 * STEPS; turn += 1) {
      for (const worker of alive) {
        worker.startSync();
        await worker.step();
      }
    }
  };

  it('never exceed it together, whichever of them stands still, comes or dies, and use all of it in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 7 }), commands, async (limit, acts) => {
        const fleet = new Fleet(limit);
        fleet.join(0);
        for (const [name, at] of acts) {
          await act(fleet, name, at);
          expect(fleet.active).toBeLessThanOrEqual(limit);
        }
        await settle(fleet);
        const alive = fleet.workers.filter(({ isDead }) => !isDead);
        const parts = alive.map(({ slots }) => slots.loadOf(KEY).limit);
        expect(parts.reduce((sum, one) => sum + one, 0)).toBe(alive.length > 0 ? limit : 0);
      }),
      { numRuns: 80, examples: [[5, REPORTED_TOO_EARLY]] },
    );
  });
});
