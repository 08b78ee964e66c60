import fc from 'fast-check';
import { DAY, HOUR, MINUTE, SECOND } from '../../../common/clock';
import { EgressError, toEgressFailure } from '../../../common/egress/egress-failure';
import { evaluateAttempt, readRetryAfter, release } from './evaluate-attempt';
import type { ClaimedMessage } from '../queue/webhook-queue';

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
