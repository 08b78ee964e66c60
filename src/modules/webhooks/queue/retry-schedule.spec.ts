import fc from 'fast-check';
import { DAY, HOUR, MINUTE, SECOND } from '../../../common/clock';
import { ATTEMPTS, gapAfter, isExhausted } from './retry-schedule';

describe('the retry schedule', () => {
  it('spans more than a day in ten attempts, whatever the jitter', () => {
    const gaps = (random: number) => Array.from({ length: ATTEMPTS - 1 }, (_gap, index) => gapAfter(index + 1, random));
    expect(gaps(0.5).map((gap) => gap / SECOND)).toEqual([
      5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ]);
    expect(gaps(0).reduce((sum, gap) => sum + gap)).toBeGreaterThan(2 * DAY);
  });

  it('strays by at most 15 % and never ends', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, random) => {
          const middle = gapAfter(attempts, 0.5);
          expect(Math.abs(gapAfter(attempts, random) - middle)).toBeLessThanOrEqual(middle * 0.150_001);
        },
      ),
    );
  });

  it('waits as long as it was asked to, up to a day', () => {
    expect(gapAfter(1, 0.5, MINUTE)).toBe(MINUTE);
    expect(gapAfter(3, 0.5, MINUTE)).toBe(30 * MINUTE);
    expect(gapAfter(1, 0.5, 400 * DAY)).toBe(DAY);
  });

  it('gives up after the last attempt, yet not before a day', () => {
    expect(isExhausted(ATTEMPTS - 1, 30 * DAY)).toBe(false);
    expect(isExhausted(ATTEMPTS, 23 * HOUR)).toBe(false);
    expect(isExhausted(ATTEMPTS, DAY)).toBe(true);
  });
});
