import fc from 'fast-check';
import { DAY } from '../../../common/clock';
import type { Counts } from './evaluate-restriction';
import { DAILY_LIMITS, evaluateWarmUp, nextDay, utcDay, warmUpLimit, type WarmUpState } from './warm-up-schedule';

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

const now = new Date('2026-01-10T12:00:00.000Z');
const ago = (ms: number) => new Date(now.getTime() - ms);
const warming: WarmUpState = { status: 'warming', startedAt: ago(5 * DAY), pausedAt: null };
const counts = (accepted: number, bounced = 0, complaints = 0): Counts => ({ accepted, bounced, complaints });

describe('judging a warm-up', () => {
  it.each<[string, Counts, object]>([
    ['nothing sent', counts(0), { change: 'none' }],
    ['clean mail', counts(10_000), { change: 'none' }],
    ['5 % of bounces', counts(100, 5), { change: 'none' }],
    ['more than 5 % of bounces', counts(100, 6), { change: 'pause', reason: 'bounces' }],
    ['just more than 5 % of many', counts(1_000, 51), { change: 'pause', reason: 'bounces' }],
    ['too few recipients', counts(99, 99, 99), { change: 'none' }],
    ['0.3 % of complaints', counts(1_000, 0, 3), { change: 'none' }],
    ['more than 0.3 % of complaints', counts(1_000, 0, 4), { change: 'pause', reason: 'complaints' }],
    ['both', counts(1_000, 60, 4), { change: 'pause', reason: 'bounces' }],
  ])('with %s', (_name, seen, decision) => {
    expect(evaluateWarmUp(warming, seen, now)).toEqual(decision);
  });

  it('ends it after day 34, unless it is to be paused', () => {
    const old = { ...warming, startedAt: ago(34 * DAY) };
    expect(evaluateWarmUp({ ...warming, startedAt: ago(33 * DAY) }, counts(0), now)).toEqual({ change: 'none' });
    expect(evaluateWarmUp(old, counts(0), now)).toEqual({ change: 'finish' });
    expect(evaluateWarmUp(old, counts(100, 50), now)).toEqual({ change: 'pause', reason: 'bounces' });
  });

  it('resumes it a day after the pause, unless it is still above', () => {
    const paused = (pausedAt: Date): WarmUpState => ({ ...warming, status: 'paused', pausedAt });
    expect(evaluateWarmUp(paused(ago(DAY - 1)), counts(0), now)).toEqual({ change: 'none' });
    expect(evaluateWarmUp(paused(ago(DAY)), counts(100, 5), now)).toEqual({ change: 'resume' });
    expect(evaluateWarmUp(paused(ago(DAY)), counts(100, 6), now)).toEqual({ change: 'none' });
  });

  it('leaves alone whatever is not under way', () => {
    fc.assert(
      fc.property(fc.constantFrom('not_started', 'warmed'), fc.nat(), fc.nat(), (status, accepted, bounced) => {
        expect(evaluateWarmUp({ ...warming, status }, counts(accepted, bounced), now).change).toBe('none');
      }),
    );
  });
});
