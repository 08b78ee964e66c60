import type { PauseReason, WarmingStatus } from '../../domain.entity';
import { type Counts, exceededLimit, PAUSE_MS } from '../rates';
import { warmUpLimit } from './warm-up-schedule';

export interface WarmUpState {
  readonly status: WarmingStatus;
  readonly startedAt: Date | null;
  readonly pausedAt: Date | null;
}

export type Verdict =
  | { readonly change: 'pause'; readonly reason: PauseReason }
  | { readonly change: 'resume' }
  | { readonly change: 'finish' }
  | { readonly change: 'none' };

const NONE: Verdict = { change: 'none' };

/**
 * What becomes of a warm-up now. warming → paused above a limit, → warmed after the last day of the schedule;
 * paused → warming a day after the pause, unless the counts are still above.
 */
export function judgeWarmUp({ status, startedAt, pausedAt }: WarmUpState, counts: Counts, now: Date): Verdict {
  const reason = exceededLimit(counts);
  if (status === 'paused') {
    const isOver = now.getTime() >= (pausedAt?.getTime() ?? 0) + PAUSE_MS;
    return isOver && !reason ? { change: 'resume' } : NONE;
  }
  if (status !== 'warming') return NONE;
  if (reason) return { change: 'pause', reason };
  return warmUpLimit(startedAt, now) === null ? { change: 'finish' } : NONE;
}
