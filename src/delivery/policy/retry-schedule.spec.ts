import fc from 'fast-check';
import { DAY, HOUR, MINUTE, SECOND } from '../../common/clock';
import {
  DELIVERY_LIFE_MS,
  nextAttemptAt,
  pauseAfter,
  planRetry,
  RETRY_JITTER,
  type RetryFacts,
} from './retry-schedule';

const START = new Date('2026-03-01T12:00:00Z');

function facts(changes: Partial<RetryFacts> = {}): RetryFacts {
  return { attempt: 1, refusals: 0, firstDueAt: START, expiresAt: null, now: START, random: () => 0.5, ...changes };
}

function after(milliseconds: number): Date {
  return new Date(START.getTime() + milliseconds);
}

const arbitraryFacts = fc.record({
  attempt: fc.integer({ min: 1, max: 60 }),
  ageMs: fc.integer({ min: 0, max: 6 * DAY }),
  expiresAfterMs: fc.option(fc.integer({ min: 0, max: 6 * DAY })),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

describe('nextAttemptAt', () => {
  it.each([
    [1, 90 * SECOND],
    [2, 5 * MINUTE],
    [3, 15 * MINUTE],
    [4, 30 * MINUTE],
    [5, 1 * HOUR],
    [6, 2 * HOUR],
    [7, 4 * HOUR],
    [8, 6 * HOUR],
    [9, 6 * HOUR],
    [40, 6 * HOUR],
  ])('waits as the schedule says after attempt %d', (attempt, pauseMs) => {
    expect(nextAttemptAt(facts({ attempt }))).toEqual(after(pauseMs));
  });

  it('ends with the four days of life, not a moment before', () => {
    const atLimit = after(DELIVERY_LIFE_MS - 6 * HOUR);
    expect(nextAttemptAt(facts({ attempt: 20, now: atLimit }))).toEqual(after(DELIVERY_LIFE_MS));
    const late = after(DELIVERY_LIFE_MS - 2 * MINUTE + 1);
    expect(nextAttemptAt(facts({ attempt: 20, now: late }))).toBeUndefined();
  });

  it('has one last attempt a minute before the end, unless that would come at once', () => {
    const end = DELIVERY_LIFE_MS;
    expect(nextAttemptAt(facts({ attempt: 20, now: after(end - 6 * HOUR + 1) }))).toEqual(after(end - MINUTE));
    expect(nextAttemptAt(facts({ attempt: 20, now: after(end - 2 * MINUTE) }))).toEqual(after(end - MINUTE));
    expect(nextAttemptAt(facts({ attempt: 3, expiresAt: after(10 * MINUTE) }))).toEqual(after(9 * MINUTE));
    expect(nextAttemptAt(facts({ attempt: 4, now: after(9 * MINUTE), expiresAt: after(10 * MINUTE) }))).toBeUndefined();
  });

  it('begins no attempt after the expiry of the message', () => {
    expect(nextAttemptAt(facts({ expiresAt: after(90 * SECOND) }))).toEqual(after(90 * SECOND));
    expect(nextAttemptAt(facts({ expiresAt: after(90 * SECOND - 1) }))).toBeUndefined();
  });

  it('stays within the jitter, after now, and within both limits', () => {
    fc.assert(
      fc.property(arbitraryFacts, ({ attempt, ageMs, expiresAfterMs, random }) => {
        const now = after(ageMs);
        const expiresAt = expiresAfterMs === null ? null : after(expiresAfterMs);
        const next = nextAttemptAt(facts({ attempt, now, expiresAt, random: () => random }));
        if (next === undefined) return;
        const waited = next.getTime() - now.getTime();
        const end = Math.min(expiresAt?.getTime() ?? Infinity, after(DELIVERY_LIFE_MS).getTime());
        const isLast = next.getTime() === end - MINUTE;
        const shortest = isLast ? MINUTE : pauseAfter(attempt) * (1 - RETRY_JITTER) - 1;
        expect(waited).toBeGreaterThanOrEqual(shortest);
        expect(waited).toBeLessThanOrEqual(pauseAfter(attempt) * (1 + RETRY_JITTER));
        expect(next.getTime()).toBeLessThanOrEqual(expiresAt?.getTime() ?? Infinity);
        expect(next.getTime()).toBeLessThanOrEqual(after(DELIVERY_LIFE_MS).getTime());
      }),
    );
  });

  it('never shortens the pause with the number of attempts', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), (attempt) => {
        expect(pauseAfter(attempt + 1)).toBeGreaterThanOrEqual(pauseAfter(attempt));
      }),
    );
  });

  it('ends: a delivery that always fails is given up after a bounded number of attempts', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), (stream) => {
        let now: Date | undefined = START;
        let attempt = 0;
        while (now !== undefined && attempt < 100) {
          attempt += 1;
          now = nextAttemptAt(facts({ attempt, now, random: () => stream.next().value }));
        }
        expect(attempt).toBeGreaterThanOrEqual(18);
        expect(attempt).toBeLessThanOrEqual(28);
      }),
      { numRuns: 30 },
    );
  });
});

describe('planRetry', () => {
  it('says which limit ended the life', () => {
    const late = after(5 * DAY);
    expect(planRetry(facts({ now: late }))).toEqual({ kind: 'exhausted' });
    expect(planRetry(facts({ now: late, expiresAt: after(HOUR) }))).toEqual({ kind: 'expired' });
    expect(planRetry(facts({ now: late, expiresAt: after(6 * DAY) }))).toEqual({ kind: 'exhausted' });
  });
});
