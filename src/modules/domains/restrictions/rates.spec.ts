import fc from 'fast-check';
import { DAY, HOUR } from '../../../common/clock';
import { type Counts, evaluatedFrom, exceededLimit, isAboveLimit } from './evaluate-restriction';

const now = new Date('2026-01-10T12:00:00.000Z');
const ago = (ms: number) => new Date(now.getTime() - ms);
const counts = (accepted: number, bounced = 0, complaints = 0): Counts => ({ accepted, bounced, complaints });

describe('the limits', () => {
  it.each<[string, Counts, string | undefined]>([
    ['5 % of bounces', counts(100, 5), undefined],
    ['more than 5 % of bounces', counts(100, 6), 'bounces'],
    ['too few recipients', counts(99, 99, 99), undefined],
    ['0.3 % of complaints', counts(1_000, 0, 3), undefined],
    ['more than 0.3 % of complaints', counts(1_000, 0, 4), 'complaints'],
    ['both', counts(1_000, 60, 4), 'bounces'],
  ])('at %s', (_name, seen, reason) => {
    expect(exceededLimit(seen)).toBe(reason);
  });

  it.each<[string, Counts, string | undefined]>([
    ['10 % of bounces', counts(100, 10), undefined],
    ['more than 10 % of bounces', counts(100, 11), 'bounces'],
    ['a single complaint of few recipients', counts(100, 0, 1), undefined],
    ['two complaints of few recipients', counts(100, 0, 2), 'complaints'],
    ['bounces above once, complaints above twice', counts(1_000, 60, 7), 'complaints'],
  ])('twice over at %s', (_name, seen, reason) => {
    expect(exceededLimit(seen, 2)).toBe(reason);
  });

  it('say nothing without mail, and more the more goes wrong', () => {
    expect(isAboveLimit('bounces', counts(0, 10))).toBe(false);
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), fc.nat(10_000), (accepted, one, other) => {
        const [fewer, more] = [Math.min(one, other), Math.max(one, other)];
        if (isAboveLimit('bounces', counts(accepted, fewer))) {
          expect(isAboveLimit('bounces', counts(accepted, more))).toBe(true);
        }
        if (exceededLimit(counts(accepted, one, other), 2)) {
          expect(exceededLimit(counts(accepted, one, other))).toBeDefined();
        }
      }),
    );
  });

  it('look back a day, but not beyond a resumption', () => {
    expect(evaluatedFrom(now)).toEqual(ago(DAY));
    expect(evaluatedFrom(now, null, ago(HOUR))).toEqual(ago(HOUR));
    expect(evaluatedFrom(now, ago(2 * HOUR), ago(HOUR))).toEqual(ago(HOUR));
    expect(evaluatedFrom(now, ago(2 * DAY))).toEqual(ago(DAY));
  });
});
