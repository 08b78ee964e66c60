import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { claimOf } from '../../../test/setup/recipient-copies';
import { AttemptDispatcher } from './attempt-dispatcher';
import { type AttemptService, type EndedAttempt, RELEASED } from './attempts/attempt.service';
import { ClaimPlanner } from './claims/claim-plan';
import { ByteBudget } from '../compose/byte-budget';
import { ComposedMessage } from '../compose/composed-message';
import type { PreparedMessage } from '../compose/message-composer';
import type { Hosts, SmtpTransmitter } from './attempts/smtp-transmitter';
import type { WorkSignal } from './session/work-signal';
import { WorkerSlots } from './slots/worker-slots';

it('a route whose look-up fails by a fault of this side is an attempt that has failed, and holds nothing of the worker', async () => {
  const clock = new FakeClock();
  const slots = new WorkerSlots(clock, { slots: 4, sharedHop: false, connectionsPerHost: 4 });
  const planner = new ClaimPlanner(slots, { slots: 4, startConcurrency: 2 }, clock);
  const transmitter = { routeTo: () => Promise.reject(new Error('a fault')) } as unknown as SmtpTransmitter;
  const failed: unknown[] = [];
  const attempts = { fail: (_claim: unknown, error: unknown) => failed.push(error) } as unknown as AttemptService;
  const dispatcher = new AttemptDispatcher(attempts, transmitter, slots, planner, {} as WorkSignal, clock);
  let drops = 0;
  const message = { isExempt: false, isPresent: true, drop: () => (drops += 1) } as unknown as PreparedMessage;
  await dispatcher.enter(claimOf(0), message);
  expect(failed).toEqual([new Error('a fault')]);
  expect([planner.size, drops]).toEqual([0, 1]);
});

describe('room for large mail', () => {
  /** A worker with so many bytes for large mail, whose attempts last until the test ends them. */
  function startDispatcher(bytes: number) {
    const clock = new FakeClock();
    const slots = new WorkerSlots(clock, { slots: 100, sharedHop: false, connectionsPerHost: 4 });
    const planner = new ClaimPlanner(slots, { slots: 100, startConcurrency: 2 }, clock);
    const budget = new ByteBudget(bytes / 0.6);
    const underWay = new Map<string, () => void>();
    const attempts = {
      run: ({ destination }: { destination: string }, message: PreparedMessage): Promise<EndedAttempt> =>
        message.use(async () => {
          await new Promise<void>((resolve) => underWay.set(destination, resolve));
          underWay.delete(destination);
          return { result: RELEASED, signal: 'success' };
        }),
    };
    const transmitter = {
      routeTo: (hostName: string) =>
        Promise.resolve({ kind: 'hosts', hosts: [{ hostName, addresses: [], preference: 0 }], port: 25, final: true }),
      firstHosts: ({ hosts }: Hosts) => hosts.map(({ hostName }) => hostName),
    };
    const dispatcher = new AttemptDispatcher(
      attempts as unknown as AttemptService,
      transmitter as unknown as SmtpTransmitter,
      slots,
      planner,
      { notify: () => undefined } as unknown as WorkSignal,
      clock,
    );
    const settle = async () => {
      for (let turns = 0; turns < 5; turns += 1) await nextTurn();
    };
    /** @param name of the tenant, a number of its destination after it */
    const enter = async (name: string, cost: number) => {
      const organizationId = name.charAt(0);
      const composed = new ComposedMessage(budget, {
        organizationId,
        cost,
        make: () => Promise.resolve(Buffer.alloc(cost)),
      });
      const message = {
        isExempt: false,
        get isPresent() {
          return composed.isPresent;
        },
        get mayBegin() {
          return composed.mayBegin;
        },
        keepRoom: () => composed.keepRoom(),
        keepNoRoom: () => composed.keepNoRoom(),
        use: async <T>(work: (message: never) => Promise<T>) => {
          await composed.begin();
          return work(undefined as never).finally(() => composed.end());
        },
        drop: () => undefined,
      };
      const claim = claimOf(0, { organizationId, destination: `${name}.example` });
      void dispatcher.enter(claim, message);
      await settle();
    };
    const end = async (name: string) => {
      underWay.get(`${name}.example`)?.();
      await settle();
    };
    const names = () => [...underWay.keys()].map((destination) => destination.split('.')[0]);
    return { dispatcher, slots, enter, end, names };
  }

  it('is kept for another tenant once a smaller one of the same tenant has taken its turn', async () => {
    const { enter, end, names } = startDispatcher(600);
    await enter('c1', 300);
    // Kept for it, until the tenant's own other mail is in the memory.
    await enter('a1', 500);
    await enter('a2', 100);
    expect(names()).toEqual(['c1', 'a2']);
    await enter('b1', 450);
    // Fits, but for what is kept.
    await enter('d1', 100);
    expect(names()).toEqual(['c1', 'a2']);
    await end('c1');
    expect(names()).toEqual(['a2', 'b1']);
  });

  it('is not kept for one that something else holds up as well', async () => {
    const { dispatcher, slots, enter, names } = startDispatcher(600);
    await enter('c1', 300);
    await enter('a1', 500);
    await enter('d1', 200);
    expect(names()).toEqual(['c1']);
    slots.learned.adopt('a1.example', { pausedForMs: 60_000, pauses: 1, limit: 1 }, 0);
    dispatcher.giveBack();
    await enter('e1', 1);
    expect(names()).toEqual(['c1', 'd1', 'e1']);
  });
});
