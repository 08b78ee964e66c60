import { DAY } from '../../../common/clock';
import type { PauseReason, WarmingStatus } from '../domain.entity';
import { warmUpLimit } from './warm-up-schedule';

/** Of a thousand recipients: above that a warm-up is paused. 0.3 % of complaints is where Gmail and Yahoo lose patience. */
export const THRESHOLDS_PER_MILLE: Readonly<Record<PauseReason, number>> = { bounces: 50, complaints: 3 };
/** Fewer recipients than these say nothing. */
export const MIN_RECIPIENTS = 100;
/** How long a pause lasts when nobody ends it. */
export const PAUSE_MS = DAY;

/** Of one domain over the window it is judged by. */
export interface Counts {
  /** Recipients. */
  readonly accepted: number;
  readonly bounced: number;
  readonly complaints: number;
}

export interface WarmUpState {
  readonly status: WarmingStatus;
  readonly startedAt: Date | null;
  readonly pausedAt: Date | null;
  /** The last resumption. */
  readonly judgedSince: Date | null;
}

export type Verdict =
  | { readonly change: 'pause'; readonly reason: PauseReason }
  | { readonly change: 'resume' }
  | { readonly change: 'finish' }
  | { readonly change: 'none' };

const NONE: Verdict = { change: 'none' };

/**
 * What becomes of a warm-up now. warming → paused above a threshold, → warmed after the last day of the schedule;
 * paused → warming a day after the pause, unless the counts are still above.
 */
export function judgeWarmUp({ status, startedAt, pausedAt }: WarmUpState, counts: Counts, now: Date): Verdict {
  const reason = exceededThreshold(counts);
  if (status === 'paused') {
    const isOver = now.getTime() >= (pausedAt?.getTime() ?? 0) + PAUSE_MS;
    return isOver && !reason ? { change: 'resume' } : NONE;
  }
  if (status !== 'warming') return NONE;
  if (reason) return { change: 'pause', reason };
  return warmUpLimit(startedAt, now) === null ? { change: 'finish' } : NONE;
}

/** In whole numbers: 5 of 100 is not above 5 %, whatever floating point makes of it. */
function exceededThreshold({ accepted, bounced, complaints }: Counts): PauseReason | undefined {
  if (accepted < MIN_RECIPIENTS) return undefined;
  if (bounced * 1_000 > accepted * THRESHOLDS_PER_MILLE.bounces) return 'bounces';
  if (complaints * 1_000 > accepted * THRESHOLDS_PER_MILLE.complaints) return 'complaints';
  return undefined;
}

/**
 * The first moment that counts: 24 hours back, but nothing from before the last resumption, which would pause it again
 * at once. Counts are kept by the hour, so an hour counts when it began after that.
 */
export function judgedFrom({ judgedSince }: WarmUpState, now: Date): Date {
  const dayBack = now.getTime() - DAY;
  return new Date(Math.max(dayBack, judgedSince?.getTime() ?? 0));
}
