import { recordedOutcome } from '../../../../test/factories/outcomes';
import type { DeliveryOutcome } from '../../../delivery/ports/outcome';
import { erasedAddress, isErased, withoutNames, withoutPerson } from './erased-recipient';

const WORDS = '550 5.1.1 no ada@x.example here';
const smtp = { code: 550, enhancedCode: '5.1.1', response: WORDS, lines: [WORDS], mxHost: 'mx.x.example' };
const nextAttemptAt = new Date('2026-03-01T12:00:00Z');
const OUTCOMES: DeliveryOutcome[] = [
  { kind: 'sent', smtp },
  { kind: 'delivered', smtp },
  { kind: 'deferred', nextAttemptAt, reason: `greylisted: ${WORDS}`, smtp },
  { kind: 'unknown', nextAttemptAt, reason: 'closed', smtp },
  { kind: 'bounced', bounceType: 'hard', suppress: true, reason: 'bad-mailbox', explanation: WORDS, smtp },
  { kind: 'failed', reason: 'expired', explanation: WORDS, smtp },
  { kind: 'spam_report', data: { recipient: 'ada@x.example' } },
  { kind: 'opened', data: { ip: '192.0.2.0' } },
];

describe('what comes late of an erased recipient', () => {
  const owner = { organizationId: 'o', domainId: 'd' } as Parameters<typeof recordedOutcome>[0];

  it.each(OUTCOMES)('says that $kind happened, without recipient and without texts', (outcome) => {
    const left = withoutPerson(recordedOutcome(owner, 'e', outcome), erasedAddress(3));
    expect(isErased(left.recipient)).toBe(true);
    expect(left.outcome.kind).toBe(outcome.kind);
    expect(JSON.stringify(left)).not.toMatch(/ada|x\.example|192\.0/);
  });

  it.each(OUTCOMES)('says of another that $kind happened, with all but addresses', (outcome) => {
    const left = withoutNames(recordedOutcome(owner, 'e', outcome)).outcome;
    expect(JSON.stringify(left)).not.toContain('ada');
    const masked = JSON.stringify(outcome).replaceAll('ada@x.example', '[address]');
    expect(JSON.parse(JSON.stringify(left))).toEqual(JSON.parse(masked));
  });
});
