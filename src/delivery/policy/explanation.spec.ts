import fc from 'fast-check';
import { DAY, SECOND } from '../../common/clock';
import type { SmtpPhase } from '../ports/smtp-phase';
import { BUILT_IN_CLASSIFIER, ReplyClassifier } from './classify-reply';
import type { RetryFacts } from './retry-schedule';
import { compileOwnRules } from './rule-file';
import { rejection, resolveOutcome, type TransmissionResult } from './transmission-result';

const START = new Date('2026-03-01T12:00:00Z');

function facts(changes: Partial<RetryFacts> = {}): RetryFacts {
  return { attempt: 1, firstDueAt: START, expiresAt: null, now: START, random: () => 0.5, ...changes };
}

function rejected(phase: SmtpPhase, code: number, response: string, enhancedCode: string): TransmissionResult {
  return rejection({ phase, code, response, enhancedCode }, BUILT_IN_CLASSIFIER);
}

const afterExpiry = facts({ expiresAt: new Date(START.getTime() + SECOND) });
const greylisted = rejected('rcpt', 450, 'Greylisted', '4.2.0');
const unknownUser = rejected('rcpt', 550, 'User unknown', '5.1.1');
const refusedBanner = rejection(
  { phase: 'greeting', code: 554, response: 'No SMTP service here' },
  BUILT_IN_CLASSIFIER,
);
const timeout: TransmissionResult = { kind: 'failed', cause: 'timeout', afterFinalDot: false, smtp: { phase: 'data' } };
const noDomain: TransmissionResult = {
  kind: 'unroutable',
  permanent: true,
  enhancedCode: '5.1.2',
  reason: 'none',
  isDomainMissing: true,
};

describe('the explanation of an ending', () => {
  const late = (attempt: number) => facts({ attempt, now: new Date(START.getTime() + 4 * DAY) });
  const ownRule = rejection(
    { phase: 'rcpt', code: 550, response: '550 5.9.9 not today', lines: ['550 5.9.9 not today'] },
    new ReplyClassifier(
      compileOwnRules({ rules: [{ id: 'ours', class: 'policy', action: 'bounce' }] }, () => () => true),
    ),
  );

  it.each<[string, TransmissionResult, RetryFacts, RegExp]>([
    ['an unknown user', unknownUser, facts(), /address is bad|mailbox/i],
    ['a rule that says nothing', ownRule, facts(), /^The server of the recipient refused it: 550 5\.9\.9 not today$/],
    ['no such domain', noDomain, facts(), /^none$/],
    [
      'a host that refuses everybody',
      refusedBanner,
      facts({ attempt: 4 }),
      /^The server of the recipient refused the connection: it was tried 4 times; the last answer was: No SMTP service here$/,
    ],
    [
      'a reply to the end',
      greylisted,
      late(24),
      /within its time: it was tried 24 times; the last answer was: Greylisted$/,
    ],
    ['silence to the end', timeout, late(24), /within its time: it was tried 24 times; nobody answered$/],
    ['its own limit', greylisted, afterExpiry, /within its time: it was tried once; the last answer was: Greylisted$/],
  ])('of %s is in plain words', (_name, result, given, words) => {
    expect(resolveOutcome(result, given)).toMatchObject({ explanation: expect.stringMatching(words) });
  });

  it('is there for every refusal, whatever it says', () => {
    const reply = fc.record({
      phase: fc.constantFrom<SmtpPhase>('greeting', 'mail', 'rcpt', 'final'),
      code: fc.integer({ min: 400, max: 599 }),
      response: fc.option(fc.string(), { nil: undefined }),
    });
    fc.assert(
      fc.property(reply, fc.integer({ min: 1, max: 30 }), (smtp, attempt) => {
        const outcome = resolveOutcome(rejection(smtp, BUILT_IN_CLASSIFIER), late(attempt));
        expect(outcome).toMatchObject({ explanation: expect.stringMatching(/\w/) });
      }),
    );
  });
});
