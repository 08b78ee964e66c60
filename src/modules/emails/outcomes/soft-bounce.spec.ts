import type { DeliveryOutcome, RecordedOutcome } from '../../../delivery/ports/outcome';
import { isSoftBounce } from './soft-bounce';

const recorded = (outcome: DeliveryOutcome) => ({ outcome }) as RecordedOutcome;
const bounced = (reason: string, bounceType: 'soft' | 'hard' = 'soft') =>
  recorded({ kind: 'bounced', bounceType, suppress: false, reason });

describe('a bounce counts against its recipient', () => {
  it.each(['mailbox-full', 'unclassified', 'routing', 'retries exhausted', 'retries exhausted: timeout'])(
    'for the reason %s',
    (reason) => expect(isSoftBounce(bounced(reason))).toBe(true),
  );

  it.each([
    'policy',
    'reputation',
    'authentication',
    'content-rejected',
    'too-large',
    'rate-limited',
    'retries exhausted: policy',
  ])('not for the reason %s', (reason) => expect(isSoftBounce(bounced(reason))).toBe(false));

  it('not when it is a hard one, or no bounce', () => {
    expect(isSoftBounce(bounced('bad-mailbox', 'hard'))).toBe(false);
    expect(isSoftBounce(recorded({ kind: 'failed', reason: 'expired' }))).toBe(false);
    expect(isSoftBounce(recorded({ kind: 'delivered' }))).toBe(false);
  });
});
