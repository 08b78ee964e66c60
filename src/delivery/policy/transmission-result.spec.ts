import fc from 'fast-check';
import {
  afterExpiry,
  atEndOfLife,
  FIRST_DUE,
  greylisted,
  lost,
  noDomain,
  refusedBanner,
  rejected,
  retryFacts,
  timeout,
  unknownUser,
  taken,
  listed,
  listedDomain,
  dnsDown,
} from '../../../test/factories/transmissions';
import { HOUR, SECOND } from '../../common/clock';
import type { SmtpFacts } from '../ports/outcome';
import { BUILT_IN_CLASSIFIER } from './replies/classify-reply';
import { rejection, resolveOutcome, type TransmissionResult } from './transmission-result';
import type { RetryFacts } from './retry-schedule';

const NEXT = new Date(FIRST_DUE.getTime() + 90 * SECOND);

const full = rejected('rcpt', 552, 'Mailbox full', '5.2.2');
const spam = rejected('final', 550, 'likely unsolicited mail', '5.7.1');
const verification = rejected('rcpt', 550, 'Recipient verification problem');
const gmailRate = rejection(
  {
    phase: 'rcpt',
    code: 550,
    enhancedCode: '5.2.1',
    response: '550 5.2.1 https://support.google.com/mail/?p=ReceivingRatePerm',
    lines: [
      '550-5.2.1 The user you are trying to contact is receiving mail at a rate that',
      '550-5.2.1 prevents additional messages from being delivered.',
      '550 5.2.1 https://support.google.com/mail/?p=ReceivingRatePerm',
    ],
  },
  BUILT_IN_CLASSIFIER,
);

interface Row {
  name: string;
  result: TransmissionResult;
  facts?: RetryFacts;
  outcome: object;
}

const softBounce = { kind: 'bounced', bounceType: 'soft', suppress: false };
const hardBounce = { kind: 'bounced', bounceType: 'hard', suppress: false };

const ROWS: Row[] = [
  {
    name: 'the recipient’s own server took it',
    result: { kind: 'accepted', final: true, smtp: taken },
    outcome: { kind: 'delivered', smtp: taken },
  },
  {
    name: 'a relay took it',
    result: { kind: 'accepted', final: false, smtp: taken },
    outcome: { kind: 'sent', smtp: taken },
  },
  {
    name: 'greylisted',
    result: greylisted,
    outcome: { kind: 'deferred', nextAttemptAt: NEXT, reason: 'greylisted', smtp: { code: 450 } },
  },
  {
    name: 'greylisted to the end',
    result: greylisted,
    facts: atEndOfLife(),
    outcome: { ...softBounce, reason: 'retries exhausted: greylisted', lastReason: 'greylisted', smtp: { code: 450 } },
  },
  {
    name: 'greylisted past the message’s expiry',
    result: greylisted,
    facts: afterExpiry,
    outcome: { kind: 'failed', reason: 'expired', detail: 'greylisted' },
  },
  {
    name: 'unknown user',
    result: unknownUser,
    outcome: { kind: 'bounced', bounceType: 'hard', suppress: true, reason: 'bad-mailbox', smtp: { code: 550 } },
  },
  {
    name: 'unknown user on the last attempt',
    result: unknownUser,
    facts: atEndOfLife(),
    outcome: { kind: 'bounced', bounceType: 'hard', suppress: true },
  },
  {
    name: 'too much for one mailbox, which only the first line says',
    result: gmailRate,
    outcome: { kind: 'deferred', reason: 'rate-limited', smtp: { ruleId: 'google-recipient-rate-refused' } },
  },
  {
    name: 'a block list that has this service',
    result: listed,
    outcome: { kind: 'deferred', reason: 'reputation', smtp: { ruleId: 'blocklist', class: 'reputation' } },
  },
  {
    name: 'a block list that has this service, to the end',
    result: listed,
    facts: atEndOfLife(),
    outcome: { ...softBounce, lastReason: 'reputation', countsAgainstSender: false },
  },
  {
    name: 'a listed domain of the sender',
    result: listedDomain,
    outcome: { ...softBounce, reason: 'reputation', countsAgainstSender: false },
  },
  { name: 'mailbox full', result: full, outcome: { ...softBounce, reason: 'mailbox-full' } },
  { name: 'spam', result: spam, outcome: { ...softBounce, reason: 'content-rejected' } },
  { name: 'an unclear refusal at RCPT', result: verification, outcome: { ...hardBounce, reason: 'unclassified' } },
  {
    name: 'a host that refuses at the banner, first',
    result: refusedBanner,
    outcome: { kind: 'deferred', nextAttemptAt: NEXT, reason: 'unclassified', isRefusal: true },
  },
  {
    name: 'a host that refuses at the banner, third',
    result: refusedBanner,
    facts: retryFacts({ attempt: 3, refusals: 2 }),
    outcome: { kind: 'deferred', reason: 'unclassified', isRefusal: true },
  },
  {
    name: 'a host that refuses at the banner, first, after other deferrals',
    result: refusedBanner,
    facts: retryFacts({ attempt: 9 }),
    outcome: { kind: 'deferred', reason: 'unclassified', isRefusal: true },
  },
  {
    name: 'a host that refuses at the banner, fourth',
    result: refusedBanner,
    facts: retryFacts({ attempt: 4, refusals: 3 }),
    outcome: { ...softBounce, reason: 'unclassified', countsAgainstSender: false },
  },
  {
    name: 'a timeout in the body',
    result: timeout,
    outcome: {
      kind: 'deferred',
      nextAttemptAt: NEXT,
      reason: 'timeout',
      smtp: { phase: 'data', mxHost: 'mx.example.com' },
    },
  },
  {
    name: 'timeouts to the end',
    result: timeout,
    facts: atEndOfLife(),
    outcome: { ...softBounce, reason: 'retries exhausted: timeout', lastReason: 'timeout' },
  },
  { name: 'a timeout past the expiry', result: timeout, facts: afterExpiry, outcome: { reason: 'expired' } },
  {
    name: 'no reply to the final dot',
    result: lost,
    outcome: {
      kind: 'unknown',
      nextAttemptAt: NEXT,
      reason: 'closed',
      smtp: { phase: 'data', mxHost: 'mx.example.com' },
    },
  },
  {
    name: 'no reply to the final dot, at the end',
    result: lost,
    facts: atEndOfLife(),
    outcome: { ...softBounce, reason: 'retries exhausted: closed' },
  },
  {
    name: 'a domain that does not exist',
    result: noDomain,
    outcome: {
      ...hardBounce,
      reason: 'bad-domain',
      isDomainMissing: true,
      smtp: { enhancedCode: '5.1.2', phase: 'dns' },
    },
  },
  {
    name: 'DNS out of order',
    result: dnsDown,
    outcome: { kind: 'deferred', nextAttemptAt: NEXT, reason: 'routing', smtp: { enhancedCode: '4.4.3' } },
  },
  { name: 'DNS out of order to the end', result: dnsDown, facts: atEndOfLife(), outcome: softBounce },
];

describe('resolveOutcome', () => {
  it.each(ROWS)('$name', (row) => {
    expect(resolveOutcome(row.result, row.facts ?? retryFacts())).toMatchObject(row.outcome);
  });

  it('suppresses no recipient when a message to several was refused', () => {
    const smtp: SmtpFacts = { phase: 'final', code: 550, enhancedCode: '5.1.1' };
    const { phase, code, enhancedCode } = smtp;
    const classification = BUILT_IN_CLASSIFIER.classify({ phase, code, enhancedCode, recipientCount: 2 });
    const result: TransmissionResult = { kind: 'rejected', smtp, classification };
    expect(resolveOutcome(result, retryFacts())).toMatchObject({ ...hardBounce });
  });

  it('never bounces a 4xx within the delivery’s life, nor lets an attempt begin after the expiry', () => {
    const reply = fc.record({
      phase: fc.constantFrom('greeting', 'mail', 'rcpt', 'final'),
      code: fc.integer({ min: 400, max: 499 }),
      response: fc.string(),
    });
    fc.assert(
      fc.property(reply, fc.integer({ min: 1, max: 8 }), fc.nat(6 * HOUR), (smtp, attempt, expiresInMs) => {
        const expiresAt = new Date(FIRST_DUE.getTime() + expiresInMs);
        const open = resolveOutcome(rejection(smtp, BUILT_IN_CLASSIFIER), retryFacts({ attempt }));
        expect(open.kind).toBe('deferred');
        const limited = resolveOutcome(rejection(smtp, BUILT_IN_CLASSIFIER), retryFacts({ attempt, expiresAt }));
        if (limited.kind !== 'deferred') expect(limited).toMatchObject({ kind: 'failed', reason: 'expired' });
        else expect(limited.nextAttemptAt.getTime()).toBeLessThanOrEqual(expiresAt.getTime());
      }),
    );
  });
});

describe('what counts against the sender', () => {
  it.each<[string, TransmissionResult, boolean]>([
    ['an unknown user', unknownUser, true],
    ['a full mailbox', full, true],
    ['spam', spam, true],
    ['a domain that does not exist', noDomain, true],
    ['a listed address', listed, false],
    ['a rate', gmailRate, false],
    ['a server that does not answer', timeout, false],
  ])('%s', (_name, result, counts) => {
    const outcome = resolveOutcome(result, atEndOfLife());
    expect(outcome).toMatchObject({ kind: 'bounced' });
    expect(outcome).not.toMatchObject({ countsAgainstSender: counts ? false : true });
    if (!counts) expect(outcome).toMatchObject({ countsAgainstSender: false });
  });
});

it('a host that refuses at MAIL again and again may mean the sender', () => {
  const outcome = resolveOutcome(rejected('mail', 550, 'Go away'), retryFacts({ refusals: 3 }));
  expect(outcome).toMatchObject(softBounce);
  expect(outcome).not.toHaveProperty('countsAgainstSender');
});
