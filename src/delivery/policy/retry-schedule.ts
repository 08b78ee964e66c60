import { DAY, HOUR, MINUTE, SECOND } from '../../common/clock';

/**
 * Pauses by the number of attempts made so far: 90 s and 5 min fit greylisting, which takes 1 to 5 minutes; later ones follow
 * RFC 5321 section 4.5.4.1 (30 minutes and more), and the last one repeats.
 */
const PAUSES_MS: readonly number[] = [
  0,
  90 * SECOND,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  4 * HOUR,
  6 * HOUR,
];

const LONGEST_PAUSE_MS = 6 * HOUR;

/** Spreads what failed together, so that an outage does not end in a stampede. */
export const RETRY_JITTER = 0.2;

/** RFC 5321 section 4.5.4.1 demands at least 4 to 5 days before giving up. */
export const DELIVERY_LIFE_MS = 4 * DAY;

/** A pause that would outlast the delivery's life is cut, for one last attempt so long before its end, */
const LAST_CHANCE_MS = MINUTE;
/** unless that would come at once. */
const LAST_PAUSE_MS = MINUTE;

/** What the schedule goes by: facts of one delivery at the moment an attempt has failed. */
export interface RetryFacts {
  /** Number of the attempt that just failed, from 1. */
  readonly attempt: number;
  /** Earlier attempts that were refused for good before RCPT. */
  readonly refusals: number;
  readonly firstDueAt: Date;
  /** No attempt starts after it. */
  readonly expiresAt: Date | null;
  readonly now: Date;
  /** Evenly from [0, 1), as `Math.random`. */
  readonly random: () => number;
}

/** `expired`: the message's own limit came first. `exhausted`: the service's limit did. */
export type RetryPlan = { readonly kind: 'at'; readonly at: Date } | { readonly kind: 'expired' | 'exhausted' };

/** When to try again, or which limit ended the delivery's life. */
export function planRetry(facts: RetryFacts): RetryPlan {
  const at = facts.now.getTime() + pauseAfter(facts.attempt) * jitter(facts.random);
  const end = endOfLife(facts).getTime();
  if (at <= end) return { kind: 'at', at: new Date(at) };
  const lastChance = end - LAST_CHANCE_MS;
  if (lastChance - facts.now.getTime() >= LAST_PAUSE_MS) return { kind: 'at', at: new Date(lastChance) };
  return { kind: end === facts.expiresAt?.getTime() ? 'expired' : 'exhausted' };
}

/** When a delivery is given up at the latest: by the message's own limit, or the service's. */
export function endOfLife({ firstDueAt, expiresAt }: Pick<RetryFacts, 'firstDueAt' | 'expiresAt'>): Date {
  return new Date(Math.min(expiresAt?.getTime() ?? Infinity, firstDueAt.getTime() + DELIVERY_LIFE_MS));
}

/** When to try again; undefined when the delivery's life is over. */
export function nextAttemptAt(facts: RetryFacts): Date | undefined {
  const plan = planRetry(facts);
  return plan.kind === 'at' ? plan.at : undefined;
}

/** Milliseconds between a failed attempt and the next, before jitter. */
export function pauseAfter(attempt: number): number {
  return PAUSES_MS[Math.max(1, Math.floor(attempt))] ?? LONGEST_PAUSE_MS;
}

/** A factor around 1. */
export function jitter(random: () => number): number {
  return 1 - RETRY_JITTER + 2 * RETRY_JITTER * random();
}
