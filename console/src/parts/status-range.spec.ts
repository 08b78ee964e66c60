import { fromNow, utcMoment } from './format';
import { before, inSteps, lastHours, weeksOf } from './status-range';

const NOON = Date.parse('2026-03-04T12:00:00Z');
const HOUR_MS = 3_600_000;

describe('periods', () => {
  it('end with the hour that has begun, and have one before them', () => {
    const period = lastHours(24, NOON);
    expect(period).toEqual({ from: '2026-03-03T13:00:00.000Z', to: '2026-03-04T13:00:00.000Z' });
    expect(lastHours(24, NOON + HOUR_MS - 1)).toEqual(period);
    expect(before(period)).toEqual({ from: '2026-03-02T13:00:00.000Z', to: period.from });
  });

  it('are cut into weeks without a gap', () => {
    const weeks = weeksOf(lastHours(720, NOON));
    expect(weeks).toHaveLength(5);
    expect(weeks.slice(1).map(({ from }) => from)).toEqual(weeks.slice(0, -1).map(({ to }) => to));
    expect(weeks.at(-1)?.to).toBe('2026-03-04T13:00:00.000Z');
  });
});

describe('steps', () => {
  const hourOf = (time: string, clicks: number) => ({
    ...{ hour: time, timestamp: time, total: 1, sent: 1, delivered: 1, bounced: 0, opens: 0, clicks },
  });
  /** As many hours as that, each with one click more. */
  const hoursFrom = (iso: string, length: number) =>
    Array.from({ length }, (_, at) => hourOf(new Date(Date.parse(iso) + at * HOUR_MS).toISOString(), at));

  it('of a day begin at midnight UTC, and those at the ends of a period are in part', () => {
    const steps = inSteps(hoursFrom('2026-03-02T22:00:00.000Z', 29), 24);
    expect(steps.map(({ hour, hours, total }) => [hour, hours, total])).toEqual([
      ['2026-03-02T00:00:00.000Z', 2, 2],
      ['2026-03-03T00:00:00.000Z', 24, 24],
      ['2026-03-04T00:00:00.000Z', 3, 3],
    ]);
  });

  it('of six hours begin at 0, 6, 12 and 18, and add their hours up', () => {
    const steps = inSteps(hoursFrom('2026-03-02T05:00:00.000Z', 8), 6);
    expect(steps.map(({ hour, clicks }) => [hour.slice(11, 13), clicks])).toEqual([
      ['00', 0],
      ['06', 21],
      ['12', 7],
    ]);
  });
});

describe('times', () => {
  it('of figures are in UTC', () => {
    expect(utcMoment('2026-03-04T00:00:00Z')).toBe('Mar 4, 00:00');
  });

  it('are of the day before yesterday when two nights lie between', () => {
    const [monday, wednesday] = [new Date(2026, 2, 2, 22), new Date(2026, 2, 4, 9)];
    expect(fromNow(monday.toISOString(), wednesday.getTime())).toBe('2 days ago');
    expect(fromNow(new Date(2026, 2, 3, 8).toISOString(), wednesday.getTime())).toBe('yesterday');
  });
});
