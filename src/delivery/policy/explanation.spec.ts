import fc from 'fast-check';
import {
  afterExpiry,
  atEndOfLife,
  greylisted,
  lost,
  noDomain,
  refusedBanner,
  rejected,
  retryFacts,
  timeout,
  unknownUser,
} from '../../../test/factories/transmissions';
import type { SmtpPhase } from '../ports/attempt-trace';
import { BUILT_IN_CLASSIFIER, ReplyClassifier } from './replies/classify-reply';
import type { RetryFacts } from './retry-schedule';
import { compileOwnRules } from './replies/reply-rules';
import { rejection, resolveOutcome, type TransmissionResult } from './transmission-result';

describe('the explanation of an ending', () => {
  const ownRule = rejection(
    { phase: 'rcpt', code: 550, response: '550 5.9.9 not today', lines: ['550 5.9.9 not today'] },
    new ReplyClassifier(
      compileOwnRules({ rules: [{ id: 'ours', class: 'policy', action: 'bounce' }] }, () => () => true),
    ),
  );

  it.each<[string, TransmissionResult, RetryFacts, RegExp]>([
    ['an unknown user', unknownUser, retryFacts(), /address is bad|mailbox/i],
    ['a rule that says nothing', ownRule, retryFacts(), /^The receiving server refused it: 550 5\.9\.9 not today$/],
    ['no such domain', noDomain, retryFacts(), /^none$/],
    [
      'a host that refuses everybody',
      refusedBanner,
      retryFacts({ attempt: 9, refusals: 3 }),
      /^The receiving server refused the connection 4 times; the last answer was: No SMTP service here$/,
    ],
    [
      'a host that refuses the sender',
      rejected('mail', 550, '550 5.7.1 not from there', '5.7.1'),
      retryFacts({ attempt: 9, refusals: 3 }),
      /^The receiving server refused the mail, before it heard of the recipient, 4 times; the last answer was: 550 5\.7\.1/,
    ],
    [
      'a reply to the end',
      greylisted,
      atEndOfLife(24),
      /within its time: it was tried 24 times; the last answer was: Greylisted$/,
    ],
    ['silence to the end', timeout, atEndOfLife(24), /within its time: it was tried 24 times; no server answered$/],
    [
      'silence to the end, as it is worded',
      { ...timeout, smtp: { ...timeout.smtp, response: 'The server did not answer in time' } },
      atEndOfLife(24),
      /it was tried 24 times; the last result was: The server did not answer in time$/,
    ],
    [
      'silence after the final dot',
      lost,
      atEndOfLife(24),
      /24 times; no server answered; the server had the whole message, so it may have arrived after all$/,
    ],
    ['its own limit', greylisted, afterExpiry, /within its time: it was tried once; the last answer was: Greylisted$/],
  ])('of %s is in plain words', (_name, result, given, words) => {
    expect(resolveOutcome(result, given)).toMatchObject({ explanation: expect.stringMatching(words) });
  });

  it('is there for what no reply says, while it is tried again', () => {
    const ours = { ...timeout, cause: 'internal', smtp: {} };
    expect(resolveOutcome(ours, retryFacts())).toMatchObject({
      explanation: expect.stringMatching(/^An error of this/) as unknown,
    });
    expect(resolveOutcome(lost, retryFacts())).toMatchObject({
      ...{ kind: 'unknown', explanation: expect.stringMatching(/did not say .* may arrive twice$/) as unknown },
    });
    for (const plain of [timeout, greylisted]) {
      expect(resolveOutcome(plain, retryFacts())).not.toHaveProperty('explanation');
    }
  });

  it('is there for every refusal, whatever it says', () => {
    const reply = fc.record({
      phase: fc.constantFrom<SmtpPhase>('greeting', 'mail', 'rcpt', 'final'),
      code: fc.integer({ min: 400, max: 599 }),
      response: fc.option(fc.string(), { nil: undefined }),
    });
    fc.assert(
      fc.property(reply, fc.integer({ min: 1, max: 30 }), (smtp, attempt) => {
        const outcome = resolveOutcome(rejection(smtp, BUILT_IN_CLASSIFIER), atEndOfLife(attempt));
        expect(outcome).toMatchObject({ explanation: expect.stringMatching(/\w/) });
      }),
    );
  });
});
