import fc from 'fast-check';
import { DAY, HOUR, MINUTE } from '../../../common/clock';
import { SENDING_FREELY, type SendingState } from '../registry/domain.entity';
import {
  type Counts,
  evaluatedFrom,
  evaluateRestriction,
  exceededLimit,
  isAboveLimit,
  NO_COUNTS,
  type SendingRecord,
  slowedLimit,
} from './evaluate-restriction';

const now = new Date('2026-01-10T12:00:00.000Z');
const ago = (ms: number) => new Date(now.getTime() - ms);
const counts = (accepted: number, bounced = 0, complaints = 0): Counts => ({ accepted, bounced, complaints });
const record = (day: Counts, sinceChange = NO_COUNTS): SendingRecord => ({ day, sinceChange });
const slowed = (sinceMs: number, fields: Partial<SendingState> = {}): SendingState => ({
  ...{ ...SENDING_FREELY, status: 'slowed', reason: 'bounces', since: ago(sinceMs), dailyLimit: 100 },
  ...fields,
});
const paused = (sinceMs: number, reason: SendingState['reason'] = 'bounces'): SendingState => ({
  ...slowed(sinceMs),
  ...{ status: 'paused', reason },
});

describe('judging an active domain', () => {
  it.each<[string, Counts, object]>([
    ['nothing sent', counts(0), { change: 'none' }],
    ['5 % of bounces', counts(100, 5), { change: 'none' }],
    ['more than 5 % of bounces', counts(100, 6), { change: 'slow', reason: 'bounces' }],
    ['all of too few', counts(99, 99, 99), { change: 'none' }],
    ['more than 0.3 % of complaints', counts(1_000, 0, 4), { change: 'slow', reason: 'complaints' }],
    ['everything bounced', counts(1_000, 1_000), { change: 'slow', reason: 'bounces' }],
  ])('with %s', (_name, day, decision) => {
    expect(evaluateRestriction(SENDING_FREELY, record(day), now)).toEqual(decision);
  });
});

describe('judging a slowed domain', () => {
  const bad = counts(1_000, 60);

  it('pauses it at once above twice a limit', () => {
    expect(evaluateRestriction(slowed(MINUTE), record(counts(1_000, 100)), now)).toEqual({ change: 'none' });
    const decision = { change: 'pause', reason: 'bounces' };
    expect(evaluateRestriction(slowed(MINUTE), record(counts(1_000, 101)), now)).toEqual(decision);
  });

  it('pauses it after an hour in which it went on as before', () => {
    const going = record(bad, counts(50, 3));
    expect(evaluateRestriction(slowed(HOUR - 1), going, now)).toEqual({ change: 'none' });
    expect(evaluateRestriction(slowed(HOUR), going, now)).toEqual({ change: 'pause', reason: 'bounces' });
  });

  it('waits as long as it sends nothing, or clean mail', () => {
    expect(evaluateRestriction(slowed(20 * HOUR), record(bad), now)).toEqual({ change: 'none' });
    expect(evaluateRestriction(slowed(20 * HOUR), record(bad, counts(90, 2)), now)).toEqual({ change: 'none' });
  });

  it('resumes it below the limits for an hour without a break', () => {
    const good = record(counts(1_000, 50));
    expect(evaluateRestriction(slowed(2 * HOUR), good, now)).toEqual({ change: 'note', belowSince: now });
    const since = (belowSince: Date) => slowed(2 * HOUR, { belowSince });
    expect(evaluateRestriction(since(ago(HOUR - 1)), good, now)).toEqual({ change: 'none' });
    expect(evaluateRestriction(since(ago(HOUR)), good, now)).toEqual({ change: 'resume' });
    expect(evaluateRestriction(since(ago(HOUR)), record(bad), now)).toEqual({ change: 'note', belowSince: null });
  });

  it('leaves it a tenth of what it sent, and a hundred in any case', () => {
    expect([0, 100, 1_000, 1_019, 20_000].map((accepted) => slowedLimit(counts(accepted)))).toEqual([
      ...[100, 100, 100, 101, 2_000],
    ]);
  });
});

describe('judging a paused domain', () => {
  it('lets it send slowly a day later, whatever it did before', () => {
    const bad = record(counts(1_000, 1_000));
    expect(evaluateRestriction(paused(DAY - 1), bad, now)).toEqual({ change: 'none' });
    expect(evaluateRestriction(paused(DAY), bad, now)).toEqual({ change: 'ease' });
  });

  it('never ends a pause of the operator', () => {
    expect(evaluateRestriction(paused(400 * DAY, 'operator'), record(NO_COUNTS), now)).toEqual({ change: 'none' });
  });
});

describe('every decision', () => {
  const anyCounts = fc.record({ accepted: fc.nat(500), bounced: fc.nat(60), complaints: fc.nat(5) });
  const anyRecord = fc.record({ day: anyCounts, sinceChange: anyCounts });
  const anyTime = fc.nat(2 * DAY).map(ago);
  const anyState: fc.Arbitrary<SendingState> = fc.record({
    status: fc.constantFrom('active', 'slowed', 'paused'),
    reason: fc.constantFrom('bounces', 'complaints', 'operator', null),
    note: fc.constant(null),
    since: fc.option(anyTime),
    evaluatedSince: fc.option(anyTime),
    belowSince: fc.option(anyTime),
    dailyLimit: fc.constant(100),
  });
  const ALLOWED = {
    active: ['slow', 'none'],
    slowed: ['pause', 'resume', 'note', 'none'],
    paused: ['ease', 'none'],
  };

  it('is a step of the state machine, and only what is above a limit is held back', () => {
    fc.assert(
      fc.property(anyState, anyRecord, (state, seen) => {
        const { change } = evaluateRestriction(state, seen, now);
        expect(ALLOWED[state.status]).toContain(change);
        const isAbove = exceededLimit(seen.day) !== undefined;
        if (change === 'slow' || change === 'pause') expect(isAbove).toBe(true);
        if (change === 'resume') expect(isAbove).toBe(false);
      }),
    );
  });
});

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
