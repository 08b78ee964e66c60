import { SECOND } from '../../../common/clock';
import type { EgressResult } from '../../../common/egress/egress-client';
import type { EgressFailureKind } from '../../../common/egress/egress-failure';
import { gapAfter, isExhausted } from '../queue/retry-schedule';
import type { ClaimedMessage, SettledMessage } from '../queue/webhook-queue';

/** Why a message has ended without having been delivered, beside what went wrong and `ENDPOINT_DISABLED`. */
const EVENT_GONE = 'event_gone';
const EXHAUSTED = 'exhausted';

/** For the metrics. */
export type AttemptResult =
  | 'delivered'
  | 'gone'
  | 'redirect'
  | 'status'
  | 'event_gone'
  | 'unsendable'
  | Exclude<EgressFailureKind, 'connect_timeout'>;

export const ATTEMPT_RESULTS: readonly AttemptResult[] = [
  ...(['delivered', 'gone', 'redirect', 'status', 'event_gone', 'unsendable'] as const),
  ...(['refused', 'dns', 'timeout', 'connection', 'tls', 'protocol', 'stopped'] as const),
];

export interface AttemptDecision {
  readonly settled: SettledMessage;
  readonly result: AttemptResult;
  /** The receiver's pause before the next request (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number;
}

export interface Moment {
  readonly now: Date;
  /** From 0 up to 1. */
  readonly random: number;
}

const UNCHANGED = {
  ...{ nextAttemptAt: null, status: null, error: null, response: null, deliveredAt: null, result: undefined },
} as const;

/**
 * What a response means: 2xx is a delivery, 410 ends the subscription, anything else a failure: a redirect, too, since
 * it would lead to where the customer has not pointed.
 */
export function evaluateAttempt(message: ClaimedMessage, outcome: EgressResult, moment: Moment): AttemptDecision {
  if (outcome.kind === 'failed') {
    const { kind, reason } = outcome.failure;
    if (kind === 'stopped') return { settled: release(message), result: 'stopped', retryAfterMs: 0 };
    const result = kind === 'connect_timeout' ? 'timeout' : kind;
    return { settled: fail(message, { status: null, error: reason }, moment), result, retryAfterMs: 0 };
  }
  const { status } = outcome;
  if (status >= 200 && status < 300) {
    return { settled: deliver(message, status, moment.now), result: 'delivered', retryAfterMs: 0 };
  }
  if (status === 410) return { settled: endAsGone(message), result: 'gone', retryAfterMs: 0 };
  const retryAfterMs = readRetryAfter(outcome.retryAfter, moment.now);
  const isRedirect = status >= 300 && status < 400;
  const error = isRedirect ? `redirect: HTTP status ${status}, which is not followed` : `HTTP status ${status}`;
  return {
    settled: fail(message, { status, error }, moment, retryAfterMs),
    result: isRedirect ? 'redirect' : 'status',
    retryAfterMs,
  };
}

/** Nothing has been sent: as if it had not been claimed. */
export function release(message: ClaimedMessage, nextAttemptAt: Date | null = null): SettledMessage {
  return { ...UNCHANGED, message, state: 'pending', isCharged: false, nextAttemptAt };
}

/** The event has been deleted meanwhile: there is nothing left to send. */
export function endAsEventGone(message: ClaimedMessage): SettledMessage {
  return { ...UNCHANGED, message, state: 'failed', isCharged: false, error: EVENT_GONE };
}

function deliver(message: ClaimedMessage, status: number, deliveredAt: Date): SettledMessage {
  return { ...UNCHANGED, message, state: 'delivered', isCharged: true, status, deliveredAt, result: 'succeeded' };
}

function endAsGone(message: ClaimedMessage): SettledMessage {
  const error = 'HTTP status 410: the endpoint wants no more and has been disabled';
  return { ...UNCHANGED, message, state: 'failed', isCharged: true, status: 410, error, result: 'gone' };
}

function fail(
  message: ClaimedMessage,
  { status, error }: { readonly status: number | null; readonly error: string },
  { now, random }: Moment,
  retryAfterMs = 0,
): SettledMessage {
  const failed = { ...UNCHANGED, message, isCharged: true, status, result: 'failed' } as const;
  if (isExhausted(message.attempts, now.getTime() - message.createdAt.getTime())) {
    return { ...failed, state: 'failed', error: `${EXHAUSTED}: ${error}` };
  }
  const nextAttemptAt = new Date(now.getTime() + gapAfter(message.attempts, random, retryAfterMs));
  return { ...failed, state: 'pending', error, nextAttemptAt };
}

const SECONDS = /^\d{1,9}$/;

/** The value of `Retry-After`, seconds or a date (RFC 9110 section 10.2.3), in milliseconds from now; 0 without one. */
export function readRetryAfter(value: string | undefined, now: Date): number {
  const text = value?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text) * SECOND;
  const date = text.endsWith('GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime());
}
