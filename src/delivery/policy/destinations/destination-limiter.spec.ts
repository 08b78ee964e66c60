import fc from 'fast-check';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { MINUTE, SECOND } from '../../../common/clock';
import type { ReleaseSignal } from './destination-bounds';
import { DestinationLimiter } from './destination-limiter';

const DESTINATION = 'example.com';

function setUp(options: Partial<ConstructorParameters<typeof DestinationLimiter>[1]> = {}) {
  const clock = new FakeClock();
  const limiter = new DestinationLimiter(clock, { slots: 100, ...options });
  /** Takes a slot and gives it back at once, as one attempt would. */
  const attempt = (signal: ReleaseSignal, destination = DESTINATION) => {
    const acquired = limiter.tryAcquire(destination);
    if (acquired) limiter.release(destination, signal, `${signal} reply`);
    return acquired;
  };
  const acquireAll = (destination = DESTINATION, othersWait = true) => {
    let count = 0;
    while (limiter.tryAcquire(destination, othersWait)) count += 1;
    return count;
  };
  /** What `loads` leaves out has the limit of a new destination. */
  const limitOf = (destination: string) =>
    limiter.loads().find((load) => load.destination === destination)?.limit ?? options.startConcurrency ?? 2;
  return { clock, limiter, attempt, acquireAll, limitOf };
}

describe('what a claim goes by', () => {
  it('names those at which nothing may begin, however many others there are', () => {
    const { limiter, attempt } = setUp();
    for (const signal of ['unreachable', 'unreachable'] as const) attempt(signal, 'down.example');
    expect(limiter.loads()).toEqual([{ destination: 'down.example', limit: 0, active: 0 }]);
    for (let n = 0; n < 1_200; n += 1) attempt('success', `prompt${n}.example`);
    const loads = limiter.loads();
    expect(loads).toHaveLength(1_000);
    expect(loads[0]).toEqual({ destination: 'down.example', limit: 0, active: 0 });
    // Then the latest.
    expect(loads[1]).toEqual({ destination: 'prompt1199.example', limit: 3, active: 0 });
  });
});

describe('a destination that is open', () => {
  it('starts at two and counts slots', () => {
    const { limiter, acquireAll } = setUp();
    expect(acquireAll()).toBe(2);
    limiter.release(DESTINATION, 'neutral');
    expect(acquireAll()).toBe(1);
  });

  it('grows by one per success, up to twenty', () => {
    const { attempt, limitOf } = setUp();
    attempt('success');
    expect(limitOf(DESTINATION)).toBe(3);
    for (let count = 0; count < 50; count += 1) attempt('success');
    expect(limitOf(DESTINATION)).toBe(20);
  });

  it.each<ReleaseSignal>(['throttled', 'unreachable'])('is halved when %s', (signal) => {
    const { attempt, limitOf } = setUp({ startConcurrency: 9 });
    attempt(signal);
    expect(limitOf(DESTINATION)).toBe(4);
    attempt(signal);
    expect(limitOf(DESTINATION)).toBe(2);
  });

  it('is suspended at once by a refusal of the service, for a quarter of an hour, and probed then', () => {
    const { clock, limiter, acquireAll, attempt } = setUp({ startConcurrency: 9 });
    attempt('suspended');
    expect(acquireAll()).toBe(0);
    expect(limiter.describe()).toMatchObject([{ state: 'paused', cause: 'suspended reply' }]);
    clock.advance(15 * MINUTE - 1);
    expect(acquireAll()).toBe(0);
    clock.advance(1);
    expect(acquireAll()).toBe(1);
    limiter.release(DESTINATION, 'suspended');
    clock.advance(14 * MINUTE);
    expect(acquireAll()).toBe(0);
  });

  it('stays suspended for as long, whatever becomes of what was under way', () => {
    const { clock, limiter, acquireAll } = setUp({ startConcurrency: 3 });
    acquireAll();
    for (const signal of ['suspended', 'unreachable', 'throttled'] as const) limiter.release(DESTINATION, signal);
    expect(limiter.pausedUntil(DESTINATION)).toEqual(new Date(clock.now().getTime() + 15 * MINUTE));
  });

  it('is only halved by it where one next hop takes everything', () => {
    const { attempt, limitOf } = setUp({ startConcurrency: 9, sharedHop: true });
    attempt('suspended');
    expect(limitOf(DESTINATION)).toBe(4);
  });

  it('is halved once by failures of slots that started under the old limit', () => {
    const { limiter, acquireAll, limitOf } = setUp({ startConcurrency: 16 });
    expect(acquireAll()).toBe(16);
    for (let count = 0; count < 8; count += 1) limiter.release(DESTINATION, 'throttled');
    expect(limitOf(DESTINATION)).toBe(8);
  });

  it('is left as it is by neutral results', () => {
    const { attempt, limitOf } = setUp();
    attempt('neutral');
    expect(limitOf(DESTINATION)).toBe(2);
  });

  it('ignores a release that no slot belongs to', () => {
    const { limiter, limitOf } = setUp();
    limiter.release(DESTINATION, 'success');
    expect(limitOf(DESTINATION)).toBe(2);
  });
});

describe('a destination that is dead', () => {
  function killed() {
    const all = setUp();
    all.attempt('unreachable');
    all.attempt('unreachable');
    return all;
  }

  it('pauses, and says until when and why', () => {
    const { limiter, attempt, clock, limitOf } = killed();
    expect(attempt('success')).toBe(false);
    expect(limitOf(DESTINATION)).toBe(0);
    const pausedUntil = new Date(clock.now().getTime() + 5 * SECOND);
    expect(limiter.pausedUntil(DESTINATION)).toEqual(pausedUntil);
    expect(limiter.describe()).toEqual([
      { destination: DESTINATION, state: 'paused', limit: 0, active: 0, cause: 'unreachable reply', pausedUntil },
    ]);
  });

  it('is probed with one slot when the pause is over', () => {
    const { limiter, clock, acquireAll } = killed();
    clock.advance(5 * SECOND);
    expect(limiter.describe()).toMatchObject([{ state: 'probing', limit: 1 }]);
    expect(acquireAll()).toBe(1);
  });

  it('pauses twice as long after each failed probe, up to 15 minutes', () => {
    const { limiter, clock, attempt } = killed();
    const pauses: number[] = [];
    for (let count = 0; count < 10; count += 1) {
      const pauseMs = (limiter.pausedUntil(DESTINATION)?.getTime() ?? 0) - clock.now().getTime();
      pauses.push(pauseMs / SECOND);
      clock.advance(pauseMs);
      expect(attempt('unreachable')).toBe(true);
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
  });

  it('opens at two after a probe that succeeds, and has forgotten the long pauses', () => {
    const { limiter, clock, attempt, limitOf } = killed();
    clock.advance(5 * SECOND);
    attempt('success');
    expect(limitOf(DESTINATION)).toBe(2);
    expect(limiter.describe()).toEqual([]);
    attempt('unreachable');
    attempt('unreachable');
    expect(limiter.pausedUntil(DESTINATION)).toEqual(new Date(clock.now().getTime() + 5 * SECOND));
  });

  it('opens at one after a probe that was answered without a delivery', () => {
    const { limiter, clock, attempt, limitOf } = killed();
    clock.advance(5 * SECOND);
    attempt('neutral');
    expect(limitOf(DESTINATION)).toBe(1);
    expect(limiter.describe()).toMatchObject([{ state: 'open', limit: 1 }]);
  });

  it('takes further failures of running slots for the same news', () => {
    const { limiter, acquireAll, clock } = setUp({ startConcurrency: 4 });
    acquireAll();
    for (let count = 0; count < 4; count += 1) limiter.release(DESTINATION, 'unreachable');
    expect(limiter.pausedUntil(DESTINATION)).toEqual(new Date(clock.now().getTime() + 5 * SECOND));
  });
});

describe('a destination at which conversations fail at a message', () => {
  it('is slowed down to one at a time, and not paused: another message may pass', () => {
    const { limiter, attempt, limitOf } = setUp({ startConcurrency: 8 });
    const limits = Array.from({ length: 5 }, () => {
      attempt('interrupted');
      return limitOf(DESTINATION);
    });
    expect(limits).toEqual([4, 2, 1, 1, 1]);
    expect(limiter.pausedUntil(DESTINATION)).toBeUndefined();
    expect(limiter.describe()).toMatchObject([{ state: 'open', cause: 'interrupted reply' }]);
  });

  it('opens at one after a probe that got so far', () => {
    const { limiter, attempt, clock, limitOf } = setUp();
    attempt('unreachable');
    attempt('unreachable');
    clock.advance(5 * SECOND);
    attempt('interrupted');
    expect([limitOf(DESTINATION), limiter.pausedUntil(DESTINATION)]).toEqual([1, undefined]);
  });
});

describe('slots', () => {
  it('are shared: a quarter for one destination while others wait, its own limit otherwise', () => {
    const { attempt, acquireAll } = setUp({ slots: 20 });
    for (let count = 0; count < 10; count += 1) attempt('success');
    expect(acquireAll()).toBe(5);
    expect(acquireAll(DESTINATION, false)).toBe(7);
  });

  it('are one at least', () => {
    const { acquireAll } = setUp({ slots: 2 });
    expect(acquireAll()).toBe(1);
  });
});

describe('memory', () => {
  it('is bounded, and running slots are never forgotten', () => {
    const { limiter, attempt } = setUp({ maximumDestinations: 10 });
    limiter.tryAcquire('busy.example');
    limiter.tryAcquire('busy.example');
    for (let count = 0; count < 50; count += 1) attempt('throttled', `${count}.example`);
    expect(limiter.describe()).toHaveLength(10);
    expect(limiter.tryAcquire('busy.example')).toBe(false);
  });

  it('keeps what is held back, as long as there is anything else to forget', () => {
    const { limiter, attempt } = setUp({ maximumDestinations: 10 });
    attempt('suspended', 'listing.example');
    for (let count = 0; count < 50; count += 1) attempt('success', `${count}.example`);
    expect(limiter.pausedUntil('listing.example')).toBeDefined();
    for (let count = 0; count < 10; count += 1) attempt('suspended', `${count}.example`);
    expect(limiter.describe()).toHaveLength(10);
    expect(limiter.pausedUntil('listing.example')).toBeUndefined();
  });

  it('lasts longer than the longest pause, and ends', () => {
    const { attempt, clock, limitOf } = setUp();
    attempt('throttled');
    clock.advance(59 * MINUTE);
    attempt('success', 'other.example');
    expect(limitOf(DESTINATION)).toBe(1);
    clock.advance(MINUTE);
    attempt('success', 'other.example');
    expect(limitOf(DESTINATION)).toBe(2);
  });

  it('lists at most 1,000 blocked destinations, the latest', () => {
    const { limiter, acquireAll } = setUp();
    for (let count = 0; count < 1_200; count += 1) acquireAll(`${count}.example`);
    const blocked = limiter.loads().map(({ destination }) => destination);
    expect(blocked).toHaveLength(1_000);
    expect(blocked).toContain('1199.example');
  });
});

describe('under any sequence of events', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('acquire' as const), destination: fc.constantFrom('a', 'b') }),
    fc.record({
      kind: fc.constant('release' as const),
      destination: fc.constantFrom('a', 'b'),
      signal: fc.constantFrom<ReleaseSignal>('success', 'throttled', 'unreachable', 'interrupted', 'neutral'),
    }),
    fc.record({ kind: fc.constant('move' as const), milliseconds: fc.nat(20 * MINUTE) }),
  );

  it('keeps limits within bounds and slots within limits', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        const { limiter, clock, limitOf } = setUp();
        const active = new Map([
          ['a', 0],
          ['b', 0],
        ]);
        const add = (destination: string, by: number) =>
          active.set(destination, Math.max(0, (active.get(destination) ?? 0) + by));
        for (const step of events) {
          if (step.kind === 'move') {
            clock.advance(step.milliseconds);
            continue;
          }
          const { destination } = step;
          if (step.kind === 'acquire') {
            const limit = limitOf(destination);
            const free = (active.get(destination) ?? 0) < limit;
            expect(limiter.tryAcquire(destination)).toBe(free);
            if (free) add(destination, 1);
          } else {
            limiter.release(destination, step.signal);
            add(destination, -1);
          }
          expect(limitOf(destination)).toBeLessThanOrEqual(20);
        }
        clock.advance(15 * MINUTE);
        for (const destination of ['a', 'b']) expect(limitOf(destination)).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
