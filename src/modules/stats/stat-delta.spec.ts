import fc from 'fast-check';
import { DAY, HOUR } from '../../common/clock';
import { hoursOf, type StatDelta, sumDeltas, wholeHours } from './stat-delta';

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

const delta = (fields: Partial<StatDelta>): StatDelta => ({
  ...{ organizationId: 'o', mode: 'live', domainId: 'd', occurredAt: new Date('2026-05-01T10:30:00Z') },
  ...{ counter: 'delivered', by: 1 },
  ...fields,
});

it('deltas of a domain and hour are one, with what is of each group of receivers', () => {
  const sums = sumDeltas([
    delta({ provider: 'google' }),
    delta({ provider: 'yahoo', counter: 'complaints' }),
    delta({ counter: 'opens' }),
    delta({ provider: 'google', by: 2 }),
    delta({ counter: 'sent', by: 4 }),
    delta({ counter: 'clicks' }),
  ]);
  expect(sums).toHaveLength(1);
  expect(sums[0]).toMatchObject({ sent: 4, delivered: 3, complaints: 1, opens: 1, clicks: 1 });
  // In the order of PROVIDER_COUNTERS: sent, delivered, deferred, bounced, excused, complaints.
  expect(sums[0]?.byProvider).toEqual({ google: [0, 3, 0, 0, 0, 0], yahoo: [0, 0, 0, 0, 0, 1] });
});

it('what is not counted by receiver is in the totals only, and without receivers there is nothing', () => {
  const [opened, other] = sumDeltas([delta({ provider: 'google', counter: 'opens' }), delta({ domainId: 'e' })]);
  expect([opened?.opens, opened?.byProvider]).toEqual([1, null]);
  expect([other?.delivered, other?.byProvider]).toEqual([1, null]);
});
