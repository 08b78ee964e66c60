import { DAY, HOUR, MINUTE, SECOND } from '../../../common/clock';

/**
 * Between one attempt and the next (Standard Webhooks, "Deliverability and reliability"): ten attempts in 75 hours and a
 * half, so that a receiver that is away for a whole weekend night and the day after misses nothing.
 */
const GAPS_MS = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR],
  ...[10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
] as const;

/** With the first one. */
export const ATTEMPTS = GAPS_MS.length + 1;

/** An attempt that failed began before it was recorded that the endpoint fails. */
export const LONGEST_ATTEMPT_MS = MINUTE;
/** What has been tried often enough is still not given up before: attempts may have been brought forward. */
const LEAST_AGE_MS = DAY;
const JITTER = 0.15;
const LONGEST_GAP_MS = DAY;

/** True when a message that has failed so often, and that is so old, is given up. */
export function isExhausted(attempts: number, ageMs: number): boolean {
  return attempts >= ATTEMPTS && ageMs >= LEAST_AGE_MS;
}

/**
 * How long to wait after so many attempts, in milliseconds: ± 15 %, so that what failed together does not come back
 * together, and not less than the receiver requested, up to a day.
 * @param random from 0 up to 1
 */
export function gapAfter(attempts: number, random: number, retryAfterMs = 0): number {
  const gapMs = GAPS_MS[attempts - 1] ?? LONGEST_GAP_MS;
  return Math.max(gapMs * (1 - JITTER + 2 * JITTER * random), Math.min(retryAfterMs, LONGEST_GAP_MS));
}
