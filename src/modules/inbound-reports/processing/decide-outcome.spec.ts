import { decideOutcome, ofMember } from './decide-outcome';
import type { Report } from '../parsing/report';

const BOUNCE: Report = {
  kind: 'bounce',
  action: 'failed',
  bounceType: 'hard',
  suppress: true,
  reason: 'bad-mailbox',
  class: 'mailbox',
  ruleId: 'bad-mailbox-code',
  countsAgainstSender: true,
  explanation: 'The address is bad',
  code: 550,
  enhancedCode: '5.1.1',
  response: '550 5.1.1 no such user',
  remoteHost: 'mx.example.org',
  finalRecipient: 'somebody@else.example',
};

describe('decideOutcome', () => {
  it('takes over what a bounce says, but not whom it names', () => {
    expect(decideOutcome(BOUNCE)).toEqual({
      disposition: 'hard_bounce',
      outcome: {
        source: 'dsn',
        event: {
          kind: 'bounced',
          bounceType: 'hard',
          suppress: true,
          reason: 'bad-mailbox',
          countsAgainstSender: true,
          explanation: 'The address is bad',
          smtp: {
            code: 550,
            enhancedCode: '5.1.1',
            response: '550 5.1.1 no such user',
            mxHost: 'mx.example.org',
            ruleId: 'bad-mailbox-code',
            class: 'mailbox',
          },
        },
      },
    });
    expect(decideOutcome({ ...BOUNCE, bounceType: 'soft' }).disposition).toBe('soft_bounce');
  });

  it.each([
    ['sales@example.com', 'bob@elsewhere.example', 'sales@example.com'],
    ['Sales@Example.com', 'bob@elsewhere.example', 'sales@example.com'],
    ['ann@example.com', 'ann@elsewhere.example', undefined],
    ['ann@example.com', 'a.smith@example.com', undefined],
    ['ann@example.com', 'u1001@mx1.example.com', undefined],
    ['ann@mail.example.com', 'u1001@example.com', undefined],
    ['ann@example.com', '/var/mail/ann', undefined],
    ['ann@example.com', undefined, undefined],
    [undefined, 'bob@elsewhere.example', undefined],
  ])('sees that %s was expanded to %s', (originalRecipient, finalRecipient, expanded) => {
    const report = Object.assign({}, BOUNCE, { originalRecipient, finalRecipient });
    expect(decideOutcome(report).expanded).toBe(expanded);
  });

  it('takes the failure of a member for a soft bounce that suppresses nobody', () => {
    const { outcome } = decideOutcome(BOUNCE);
    expect(outcome && ofMember(outcome.event)).toMatchObject({
      ...{ kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'member-failed', countsAgainstSender: false },
      explanation: expect.stringContaining('passes mail on'),
    });
  });

  it('takes a success for a delivery', () => {
    expect(decideOutcome({ kind: 'delivered', remoteHost: 'mx.example.org' })).toEqual({
      disposition: 'delivered',
      outcome: { source: 'dsn', event: { kind: 'delivered', smtp: { mxHost: 'mx.example.org' } } },
    });
  });

  it('takes a complaint for one, with its kind and who reports', () => {
    expect(decideOutcome({ kind: 'complaint', feedbackType: 'fraud', reportingSystem: 'Loop/1.0' })).toEqual({
      disposition: 'spam_report',
      outcome: {
        source: 'feedback_loop',
        event: { kind: 'spam_report', data: { feedbackType: 'fraud', reportingSystem: 'Loop/1.0' } },
      },
    });
  });

  it.each<[Report, string]>([
    [{ kind: 'delayed' }, 'delayed'],
    [{ kind: 'relayed' }, 'relayed'],
    [{ kind: 'expanded' }, 'expanded'],
    [{ kind: 'ignored', reason: 'auto-reply' }, 'ignored:auto-reply'],
    [{ kind: 'ignored', reason: 'loop' }, 'ignored:loop'],
  ])('makes no outcome of %j', (report, disposition) => {
    expect(decideOutcome(report)).toEqual({ disposition });
  });
});
