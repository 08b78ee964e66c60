import type { DeliveryOutcome, RecordedOutcome } from '../../../delivery/ports/outcome';
import { isSoftBounce } from './apply-outcomes';

const recorded = (outcome: DeliveryOutcome) => ({ outcome }) as RecordedOutcome;
const bounced = (reason: string, bounceType: 'soft' | 'hard' = 'soft') =>
  recorded({ kind: 'bounced', bounceType, suppress: false, reason });
const exhausted = (lastReason: string) =>
  recorded({
    kind: 'bounced',
    bounceType: 'soft',
    suppress: false,
    reason: `retries exhausted: ${lastReason}`,
    lastReason,
  });

describe('a bounce counts against its recipient', () => {
  it.each(['mailbox-full', 'unclassified', 'routing', 'retries exhausted'])('for the reason %s', (reason) =>
    expect(isSoftBounce(bounced(reason))).toBe(true),
  );

  it.each(['policy', 'reputation', 'authentication', 'content-rejected', 'too-large', 'rate-limited'])(
    'not for the reason %s',
    (reason) => expect(isSoftBounce(bounced(reason))).toBe(false),
  );

  it('for exhausted retries as for the reason of the last attempt', () => {
    expect(isSoftBounce(exhausted('timeout'))).toBe(true);
    expect(isSoftBounce(exhausted('policy'))).toBe(false);
  });

  it('not when it is a hard one, or no bounce', () => {
    expect(isSoftBounce(bounced('bad-mailbox', 'hard'))).toBe(false);
    expect(isSoftBounce(recorded({ kind: 'failed', reason: 'expired' }))).toBe(false);
    expect(isSoftBounce(recorded({ kind: 'delivered' }))).toBe(false);
  });
});
