import fc from 'fast-check';
import { DAY, HOUR, MINUTE, SECOND } from '../../common/clock';
import { EgressError, toEgressFailure } from '../../common/egress/egress-failure';
import { ATTEMPTS, evaluateAttempt, gapAfter, isExhausted, readRetryAfter, release } from './evaluate-attempt';
import type { ClaimedMessage } from './webhook-queue';

const NOW = new Date('2026-03-01T00:00:00.000Z');
const MOMENT = { now: NOW, random: 0.5 };

function message(fields: Partial<ClaimedMessage> = {}): ClaimedMessage {
  return { attempts: 1, createdAt: NOW, ...fields } as ClaimedMessage;
}

const ANSWER = { headers: {}, body: Buffer.alloc(0), isCut: false };
const answer = (status: number, retryAfter?: string) =>
  ({ kind: 'answered', status, retryAfter, answer: ANSWER }) as const;
const after = (ms: number) => new Date(NOW.getTime() + ms);

describe('evaluateAttempt', () => {
  it.each([200, 202, 204, 299])('takes %d as a delivery', (status) => {
    const { settled, result } = evaluateAttempt(message(), answer(status), MOMENT);
    expect(settled).toMatchObject({ state: 'delivered', status, error: null, deliveredAt: NOW, result: 'succeeded' });
    expect(result).toBe('delivered');
  });

  it('takes 410 as the end of the endpoint', () => {
    const { settled } = evaluateAttempt(message(), answer(410), MOMENT);
    expect(settled).toMatchObject({ state: 'failed', status: 410, result: 'gone' });
  });

  it.each([
    [301, 'redirect: HTTP status 301, which is not followed'],
    [307, 'redirect: HTTP status 307, which is not followed'],
    [400, 'HTTP status 400'],
    [500, 'HTTP status 500'],
  ])('takes %d as a failure', (status, error) => {
    const { settled } = evaluateAttempt(message(), answer(status), MOMENT);
    expect(settled).toMatchObject({
      state: 'pending',
      status,
      error,
      nextAttemptAt: after(5 * SECOND),
      result: 'failed',
    });
  });

  it('waits as long as Retry-After says', () => {
    const { settled, retryAfterMs } = evaluateAttempt(message(), answer(503, '3600'), MOMENT);
    expect(settled.nextAttemptAt).toEqual(after(HOUR));
    expect(retryAfterMs).toBe(HOUR);
  });

  it('takes what did not come about as a failure', () => {
    const failure = toEgressFailure(new EgressError('connect_timeout'));
    const { settled, result } = evaluateAttempt(message({ attempts: 2 }), { kind: 'failed', failure }, MOMENT);
    expect(settled).toMatchObject({ status: null, error: failure.reason, nextAttemptAt: after(5 * MINUTE) });
    expect(result).toBe('timeout');
  });

  it('does not charge for what was ended from this side', () => {
    const claimed = message();
    const failure = toEgressFailure(new EgressError('stopped'));
    expect(evaluateAttempt(claimed, { kind: 'failed', failure }, MOMENT).settled).toEqual(release(claimed));
  });

  it('gives up in the end, and says why', () => {
    const old = message({ attempts: 10, createdAt: new Date(NOW.getTime() - 3 * DAY) });
    const { settled } = evaluateAttempt(old, answer(500), MOMENT);
    expect(settled).toMatchObject({ state: 'failed', error: 'exhausted: HTTP status 500', nextAttemptAt: null });
  });

  it('says little, in plain characters, whatever the error', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (code, text) => {
        const failure = toEgressFailure(Object.assign(new Error(text), { code }));
        const { settled } = evaluateAttempt(message(), { kind: 'failed', failure }, MOMENT);
        expect(settled.error).toMatch(/^[ -~]{1,200}$/);
      }),
    );
  });
});

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

describe('readRetryAfter', () => {
  it.each([
    ['120', 2 * MINUTE],
    [' 5 ', 5 * SECOND],
    ['Sun, 01 Mar 2026 00:01:00 GMT', MINUTE],
    ['Sat, 28 Feb 2026 00:00:00 GMT', 0],
    ['-5', 0],
    ['soon', 0],
    ['1e9', 0],
    ['99999999999999', 0],
    ['', 0],
    [undefined, 0],
  ])('reads %p', (value, milliseconds) => expect(readRetryAfter(value, NOW)).toBe(milliseconds));

  it('takes any text', () => {
    fc.assert(fc.property(fc.string(), (text) => expect(readRetryAfter(text, NOW)).toBeGreaterThanOrEqual(0)));
  });
});
