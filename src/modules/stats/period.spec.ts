import fc from 'fast-check';
import { DAY, HOUR } from '../../common/clock';
import { hoursOf, wholeHours } from './period';

const moment = fc.date({
  min: new Date('2020-01-01T00:00:00Z'),
  max: new Date('2030-01-01T00:00:00Z'),
  noInvalidDate: true,
});

describe('the hours of a period', () => {
  it('cover it, and no hour more', () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: 1, max: 8 * DAY }), (from, length) => {
        const period = { from, to: new Date(from.getTime() + length) };
        const hours = hoursOf(wholeHours(period));
        expect(hours[0]!.getTime()).toBeLessThanOrEqual(from.getTime());
        expect(hours[0]!.getTime()).toBeGreaterThan(from.getTime() - HOUR);
        expect(hours.at(-1)!.getTime()).toBeLessThan(period.to.getTime());
        expect(hours.at(-1)!.getTime() + HOUR).toBeGreaterThanOrEqual(period.to.getTime());
        hours.forEach((hour, index) => expect(hour.getTime()).toBe(hours[0]!.getTime() + index * HOUR));
      }),
    );
  });

  it.each([
    ['clocks go forward in Europe', '2026-03-29T00:00:00Z', '2026-03-30T00:00:00Z', 24],
    ['clocks go back in Europe', '2026-10-25T00:00:00Z', '2026-10-26T00:00:00Z', 24],
    ['a month ends', '2026-02-28T23:00:00Z', '2026-03-01T01:00:00Z', 2],
    ['a year ends', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.001Z', 2],
    ['less than an hour is asked for', '2026-05-05T10:20:00Z', '2026-05-05T10:20:01Z', 1],
  ])('are whole UTC hours when %s', (_name, from, to, count) => {
    expect(hoursOf(wholeHours({ from: new Date(from), to: new Date(to) }))).toHaveLength(count);
  });
});
