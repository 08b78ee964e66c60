import fc from 'fast-check';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { MINUTE, SECOND } from '../../../common/clock';
import { type Bounds, DestinationBounds } from './destination-bounds';

function setUp(bounds: Bounds) {
  const clock = new FakeClock();
  const all = new DestinationBounds(clock);
  all.replace((key) => (key === 'mx' ? bounds : undefined), ['mx']);
  return { clock, all };
}

describe('the bounds of a group', () => {
  it('are none for one that is not known', () => {
    const { all } = setUp({ isPaused: true });
    expect([all.limitOf('other'), all.roomFor('other', 5)]).toEqual([Infinity, Infinity]);
  });

  it('are kept for ten thousand of those that are asked for, and found again for the others', () => {
    const all = new DestinationBounds(new FakeClock());
    const boundsOf = jest.fn((key: string): Bounds => ({ isPaused: key === 'd0' }));
    all.replace(boundsOf, []);
    for (let n = 0; n < 10_000; n += 1) all.limitOf(`d${n}`);
    expect([all.limitOf('d0'), boundsOf.mock.calls.length]).toEqual([0, 10_000]);
    all.limitOf('d10000');
    expect([all.limitOf('d0'), boundsOf.mock.calls.length]).toEqual([0, 10_002]);
  });

  it('hold back all while it is paused, and what is beyond its connections', () => {
    expect(setUp({ isPaused: true, maxConnections: 3 }).all.roomFor('mx', 0)).toBe(0);
    const { all } = setUp({ isPaused: false, maxConnections: 3 });
    expect([0, 2, 3, 4].map((active) => all.roomFor('mx', active))).toEqual([3, 1, 0, 0]);
  });

  it('let nothing begin at a rate of nothing, which is the part of a worker that has just come', () => {
    const bounds: { isPaused: boolean; ratePerMinute: number } = { isPaused: false, ratePerMinute: 0 };
    const { all, clock } = setUp(bounds);
    expect(all.roomFor('mx', 0)).toBe(0);
    clock.advance(MINUTE);
    expect(all.roomFor('mx', 0)).toBe(0);
    all.replace(() => ({ isPaused: false, ratePerMinute: 30 }), ['mx']);
    expect(all.roomFor('mx', 0)).toBe(0);
    clock.advance(2 * SECOND);
    expect(all.roomFor('mx', 0)).toBe(1);
  });

  it('let no more begin in a minute than the rate and one burst', () => {
    const { all, clock } = setUp({ isPaused: false, ratePerMinute: 60 });
    let begun = 0;
    for (let step = 0; step < 600; step += 1) {
      for (; all.roomFor('mx', 0) > 0; begun += 1) all.take('mx');
      clock.advance(MINUTE / 600);
    }
    expect(begun).toBeGreaterThanOrEqual(60);
    expect(begun).toBeLessThanOrEqual(62);
  });

  it('of all workers add up to the rate, whichever have work, and a burst of each', () => {
    const rates = fc.integer({ min: 1, max: 600 });
    fc.assert(
      fc.property(
        rates,
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.nat(5), { minLength: 1 }),
        (rate, workers, busy) => {
          const clock = new FakeClock();
          const all = Array.from({ length: workers }, () => new DestinationBounds(clock));
          for (const one of all) one.replace(() => ({ isPaused: false, ratePerMinute: rate / workers }), ['mx']);
          let begun = 0;
          for (let second = 0; second < 180; second += 1) {
            const one = all[(busy[second % busy.length] ?? 0) % workers];
            for (; one && one.roomFor('mx', 0) > 0; begun += 1) one.take('mx');
            clock.advance(SECOND);
          }
          expect(begun).toBeLessThanOrEqual(3 * rate + workers * Math.max(1, rate / workers / 30));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('let something begin however low the rate, and go on with what was left when they are set again', () => {
    const { all, clock } = setUp({ isPaused: false, ratePerMinute: 1 });
    all.take('mx');
    all.replace(() => ({ isPaused: false, ratePerMinute: 1 }), ['mx']);
    expect(all.roomFor('mx', 0)).toBe(0);
    clock.advance(59 * SECOND);
    expect(all.roomFor('mx', 0)).toBe(0);
    clock.advance(2 * SECOND);
    expect(all.roomFor('mx', 0)).toBe(1);
  });
});
