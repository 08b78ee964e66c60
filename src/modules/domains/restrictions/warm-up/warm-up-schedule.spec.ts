import fc from 'fast-check';
import { DAY } from '../../../../common/clock';
import { DAILY_LIMITS, nextDay, utcDay, warmUpLimit } from './warm-up-schedule';

describe('the warm-up schedule', () => {
  const started = new Date('2026-01-05T18:30:00.000Z');
  const onDay = (day: number) => warmUpLimit(started, new Date(started.getTime() + (day - 1) * DAY));

  it.each([
    [1, 20],
    [2, 40],
    [3, 80],
    [4, 160],
    [5, 320],
    [6, 640],
    [7, 1_280],
    [13, 1_280],
    [14, 2_560],
    [20, 2_560],
    [21, 5_120],
    [27, 5_120],
    [28, 10_000],
    [34, 10_000],
    [35, null],
    [400, null],
  ])('allows on day %i: %p', (day, limit) => {
    expect(onDay(day)).toBe(limit);
  });

  it('counts days by the UTC calendar, not by 24 hours', () => {
    const late = new Date('2026-01-05T23:59:59.999Z');
    expect(warmUpLimit(late, late)).toBe(20);
    expect(warmUpLimit(late, new Date('2026-01-06T00:00:00.000Z'))).toBe(40);
    expect(warmUpLimit(late, new Date('2026-01-06T23:59:59.999Z'))).toBe(40);
  });

  it.each([
    ['2026-01-31T12:00:00.000Z', '2026-02-01T00:00:00.000Z', 40],
    ['2026-02-28T12:00:00.000Z', '2026-03-01T00:00:00.000Z', 40],
    ['2028-02-28T12:00:00.000Z', '2028-03-01T00:00:00.000Z', 80],
    ['2026-12-31T23:00:00.000Z', '2027-01-02T01:00:00.000Z', 80],
  ])('crosses the border of a month: %s to %s', (first, now, limit) => {
    expect(warmUpLimit(new Date(first), new Date(now))).toBe(limit);
  });

  it('begins with its first day before anything was sent, and under a clock that lags', () => {
    expect(warmUpLimit(null, started)).toBe(20);
    expect(warmUpLimit(started, new Date(started.getTime() - 3 * DAY))).toBe(20);
  });

  it('never falls as time goes by, and ends', () => {
    const moment = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(moment, fc.nat(60 * DAY), fc.nat(60 * DAY), (first, one, other) => {
        const limits = [Math.min(one, other), Math.max(one, other)].map(
          (after) => warmUpLimit(first, new Date(first.getTime() + after)) ?? Infinity,
        );
        expect(limits[0]).toBeLessThanOrEqual(limits[1] as number);
        expect(warmUpLimit(first, new Date(first.getTime() + 34 * DAY))).toBeNull();
      }),
    );
    expect(DAILY_LIMITS).toHaveLength(34);
  });

  it('knows the days of the calendar', () => {
    expect(nextDay(new Date('2026-02-28T23:59:59.999Z'))).toEqual(new Date('2026-03-01T00:00:00.000Z'));
    expect(nextDay(new Date('2026-03-01T00:00:00.000Z'))).toEqual(new Date('2026-03-02T00:00:00.000Z'));
    expect(utcDay(new Date('2026-02-28T23:59:59.999Z'))).toBe('2026-02-28');
  });
});
