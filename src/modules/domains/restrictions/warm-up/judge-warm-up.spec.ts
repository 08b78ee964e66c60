import fc from 'fast-check';
import { DAY } from '../../../../common/clock';
import type { Counts } from '../rates';
import { judgeWarmUp, type WarmUpState } from './judge-warm-up';

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
  ])('with %s', (_name, seen, verdict) => {
    expect(judgeWarmUp(warming, seen, now)).toEqual(verdict);
  });

  it('ends it after day 34, unless it is to be paused', () => {
    const old = { ...warming, startedAt: ago(34 * DAY) };
    expect(judgeWarmUp({ ...warming, startedAt: ago(33 * DAY) }, counts(0), now)).toEqual({ change: 'none' });
    expect(judgeWarmUp(old, counts(0), now)).toEqual({ change: 'finish' });
    expect(judgeWarmUp(old, counts(100, 50), now)).toEqual({ change: 'pause', reason: 'bounces' });
  });

  it('resumes it a day after the pause, unless it is still above', () => {
    const paused = (pausedAt: Date): WarmUpState => ({ ...warming, status: 'paused', pausedAt });
    expect(judgeWarmUp(paused(ago(DAY - 1)), counts(0), now)).toEqual({ change: 'none' });
    expect(judgeWarmUp(paused(ago(DAY)), counts(100, 5), now)).toEqual({ change: 'resume' });
    expect(judgeWarmUp(paused(ago(DAY)), counts(100, 6), now)).toEqual({ change: 'none' });
  });

  it('leaves alone whatever is not under way', () => {
    fc.assert(
      fc.property(fc.constantFrom('not_started', 'warmed'), fc.nat(), fc.nat(), (status, accepted, bounced) => {
        expect(judgeWarmUp({ ...warming, status }, counts(accepted, bounced), now).change).toBe('none');
      }),
    );
  });
});
