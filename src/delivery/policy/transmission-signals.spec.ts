import {
  dnsDown,
  greylisted,
  listed,
  listedDomain,
  refusedBanner,
  rejected,
  taken,
  timeout,
  unknownUser,
} from '../../../test/factories/transmissions';
import type { SmtpFacts } from '../ports/outcome';
import { isWorthAnotherHost, releaseSignalOf, type TransmissionResult } from './transmission-result';

describe('releaseSignalOf', () => {
  it.each<[string, TransmissionResult, string]>([
    ['accepted', { kind: 'accepted', final: true, smtp: taken }, 'success'],
    ['421', rejected('greeting', 421, 'closing'), 'throttled'],
    ['a rate limit', rejected('final', 421, 'unusual rate of unsolicited mail', '4.7.28'), 'throttled'],
    ['a listed address, at RCPT', listed, 'suspended'],
    [
      'a listed address, after the dot',
      rejected('final', 554, '554 5.7.1 blocked using zen.spamhaus.org', '5.7.1'),
      'suspended',
    ],
    ['a listed domain of the sender', listedDomain, 'neutral'],
    ['an unknown user', unknownUser, 'neutral'],
    ['greylisting', greylisted, 'neutral'],
    [
      'a refused connection',
      { kind: 'failed', cause: 'refused', afterFinalDot: false, smtp: { phase: 'connect' } },
      'unreachable',
    ],
    ['a timeout in the body', timeout, 'interrupted'],
    ['a hang-up at MAIL', { ...timeout, cause: 'closed', smtp: { phase: 'mail' } }, 'interrupted'],
    ['an attempt that we gave up', { ...timeout, cause: 'aborted' }, 'neutral'],
    ['one that we cut short', { ...timeout, cause: 'cut-short' }, 'neutral'],
    ['no route', dnsDown, 'neutral'],
  ])('%s', (_name, result, signal) => {
    expect(releaseSignalOf(result)).toBe(signal);
  });

  it.each<[string, TransmissionResult, string]>([
    ['421 in the greeting', rejected('greeting', 421, 'closing'), 'throttled'],
    ['a limit of one recipient’s server', rejected('rcpt', 451, 'Too many connections', '4.7.652'), 'interrupted'],
    ['a rate limit', rejected('final', 421, 'unusual rate of unsolicited mail', '4.7.28'), 'interrupted'],
    ['a listed address', listed, 'interrupted'],
    ['greylisting', greylisted, 'neutral'],
  ])('of a relay: %s', (_name, result, signal) => {
    expect(releaseSignalOf(result, true)).toBe(signal);
  });
});

describe('isWorthAnotherHost', () => {
  const atConnect = { kind: 'failed', cause: 'refused', afterFinalDot: false, smtp: { phase: 'connect' } } as const;
  const tooLarge: SmtpFacts = { phase: 'mail', enhancedCode: '5.3.4', response: 'too large for its SIZE' };

  it.each<[string, TransmissionResult, boolean]>([
    ['a refused connection', atConnect, true],
    ['a refusal in the banner', refusedBanner, true],
    ['a size over the one that the host offers', { ...atConnect, cause: 'too-large', smtp: tooLarge }, true],
    ['a message refused for its size', rejected('mail', 552, 'Message too big', '5.3.4'), false],
    ['an unknown user', unknownUser, false],
    ['greylisting', greylisted, false],
    ['a timeout in the body', timeout, false],
    ['no reply to the final dot', { ...timeout, afterFinalDot: true, smtp: { phase: 'final' } }, false],
    ['an attempt that we gave up', { ...atConnect, cause: 'aborted' }, false],
    ['an acceptance', { kind: 'accepted', final: true, smtp: taken }, false],
    ['no route', dnsDown, false],
  ])('%s', (_name, result, isWorth) => {
    expect(isWorthAnotherHost(result)).toBe(isWorth);
  });
});
