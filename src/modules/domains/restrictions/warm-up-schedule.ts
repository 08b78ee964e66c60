import { DAY } from '../../../common/clock';
import type { PauseReason, WarmingStatus } from '../registry/domain.entity';
import { type Counts, exceededLimit, PAUSE_MS } from './evaluate-restriction';

/** Recipients per day that receivers accept from a new domain, by the last day of each step. */
const STEPS: readonly { readonly untilDay: number; readonly limit: number }[] = [
  { untilDay: 1, limit: 20 },
  { untilDay: 2, limit: 40 },
  { untilDay: 3, limit: 80 },
  { untilDay: 4, limit: 160 },
  { untilDay: 5, limit: 320 },
  { untilDay: 6, limit: 640 },
  { untilDay: 13, limit: 1_280 },
  { untilDay: 20, limit: 2_560 },
  { untilDay: 27, limit: 5_120 },
  { untilDay: 34, limit: 10_000 },
];

/** The limits of day 1, day 2 and so on; there is none after the last. */
export const DAILY_LIMITS: readonly number[] = STEPS.flatMap(({ untilDay, limit }, index) =>
  Array.from({ length: untilDay - (STEPS[index - 1]?.untilDay ?? 0) }, () => limit),
);

/** UTC days since 1970. */
const dayNumber = (time: Date): number => Math.floor(time.getTime() / DAY);

/**
 * Recipients that a domain may send to on the UTC day of `now`; null: unlimited. Day 1 is the UTC day of the first live send;
 * days without mail count too.
 * @param startedAt the first live send; null: not yet
 */
export function warmUpLimit(startedAt: Date | null, now: Date): number | null {
  // A clock that is behind another process's must not lift the limit.
  const daysGone = startedAt ? Math.max(0, dayNumber(now) - dayNumber(startedAt)) : 0;
  return DAILY_LIMITS[daysGone] ?? null;
}

/** The start of the next UTC day, and of the next allowance. */
export function nextDay(now: Date): Date {
  return new Date((dayNumber(now) + 1) * DAY);
}

/** The UTC date of a time, for example `2026-01-05`. */
export function utcDay(now: Date): string {
  return now.toISOString().slice(0, 10);
}

export interface WarmUpState {
  readonly status: WarmingStatus;
  readonly startedAt: Date | null;
  readonly pausedAt: Date | null;
}

export type WarmUpDecision =
  | { readonly change: 'pause'; readonly reason: PauseReason }
  | { readonly change: 'resume' }
  | { readonly change: 'finish' }
  | { readonly change: 'none' };

const NONE: WarmUpDecision = { change: 'none' };

/**
 * Decides the next state of a warm-up. warming → paused above a limit, → warmed after the last day of the schedule;
 * paused → warming a day after the pause, unless the counts are still above a limit.
 */
export function evaluateWarmUp(
  { status, startedAt, pausedAt }: WarmUpState,
  counts: Counts,
  now: Date,
): WarmUpDecision {
  const reason = exceededLimit(counts);
  if (status === 'paused') {
    const isOver = now.getTime() >= (pausedAt?.getTime() ?? 0) + PAUSE_MS;
    return isOver && !reason ? { change: 'resume' } : NONE;
  }
  if (status !== 'warming') return NONE;
  if (reason) return { change: 'pause', reason };
  return warmUpLimit(startedAt, now) === null ? { change: 'finish' } : NONE;
}
