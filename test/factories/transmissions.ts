import { DAY, SECOND } from '../../src/common/clock';
import { BUILT_IN_CLASSIFIER } from '../../src/delivery/policy/replies/classify-reply';
import type { RetryFacts } from '../../src/delivery/policy/retry-schedule';
import { rejection, type TransmissionResult } from '../../src/delivery/policy/transmission-result';
import type { SmtpFacts } from '../../src/delivery/ports/outcome';
import type { SmtpPhase } from '../../src/delivery/ports/attempt-trace';

/** When every delivery of these tests was due for the first time. */
export const FIRST_DUE = new Date('2026-03-01T12:00:00Z');

/** Facts of a first attempt that has just failed. */
export function retryFacts(changes: Partial<RetryFacts> = {}): RetryFacts {
  return {
    attempt: 1,
    refusals: 0,
    firstDueAt: FIRST_DUE,
    expiresAt: null,
    now: FIRST_DUE,
    random: () => 0.5,
    ...changes,
  };
}

/** Of an attempt at the end of the service's limit. */
export function atEndOfLife(attempt = 24): RetryFacts {
  return retryFacts({ attempt, now: new Date(FIRST_DUE.getTime() + 4 * DAY) });
}

/** Of an attempt whose next would come after the message's own limit. */
export const afterExpiry = retryFacts({ expiresAt: new Date(FIRST_DUE.getTime() + SECOND) });

export function rejected(phase: SmtpPhase, code: number, response: string, enhancedCode?: string): TransmissionResult {
  const smtp: SmtpFacts = { phase, code, response, mxHost: 'mx.example.com', ...(enhancedCode && { enhancedCode }) };
  return rejection(smtp, BUILT_IN_CLASSIFIER);
}

export const greylisted = rejected('rcpt', 450, 'Greylisted', '4.2.0');
export const unknownUser = rejected('rcpt', 550, 'User unknown', '5.1.1');
export const refusedBanner = rejected('greeting', 554, 'No SMTP service here');

type Failed = Extract<TransmissionResult, { kind: 'failed' }>;

const broken: SmtpFacts = { phase: 'data', mxHost: 'mx.example.com' };
export const timeout: Failed = { kind: 'failed', cause: 'timeout', afterFinalDot: false, smtp: broken };
export const lost: Failed = { kind: 'failed', cause: 'closed', afterFinalDot: true, smtp: broken };
export const noDomain: TransmissionResult = {
  kind: 'unroutable',
  permanent: true,
  enhancedCode: '5.1.2',
  reason: 'none',
  isDomainMissing: true,
};

export const taken: SmtpFacts = { phase: 'final', code: 250, response: 'OK', mxHost: 'mx.example.com', tls: true };
export const listed = rejected('rcpt', 554, '554 5.7.1 blocked using zen.spamhaus.org', '5.7.1');
export const listedDomain = rejected('final', 550, 'Your domain is listed in the Spamhaus DBL', '5.7.1');
export const dnsDown: TransmissionResult = {
  kind: 'unroutable',
  permanent: false,
  enhancedCode: '4.4.3',
  reason: 'SERVFAIL',
};
