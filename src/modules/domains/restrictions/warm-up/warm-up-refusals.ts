import { SECOND } from '../../../../common/clock';
import { AppError } from '../../../../common/errors/app-error';
import type { PauseReason } from '../../domain.entity';
import { LIMITS_PER_MILLE, PAUSE_MS } from '../rates';
import { nextDay } from './warm-up-schedule';

export interface Use {
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
}

interface Pause {
  readonly pausedAt: Date;
  readonly reason: PauseReason | null;
}

/** The day's recipients are used up, or fewer are left than the email has. */
export function limitReached(domain: string, use: Use, now: Date): AppError {
  const { limit, used, requested } = use;
  const counts = `${limit} recipients today, of which ${used} are used and ${requested} more were asked for`;
  return exceeded(`The domain ${domain} is warming up: it may send to ${counts}`, use, nextDay(now), now, {
    suggestion: 'Send the rest tomorrow: the limit grows day by day; the operator can mark the domain as warmed',
  });
}

/** What people are told about each reason, and what helps. */
export const REASONS: Record<PauseReason, { text: string; remedy: string }> = {
  bounces: {
    text: `more than ${LIMITS_PER_MILLE.bounces / 10} % of its recipients bounced`,
    remedy: 'Remove the addresses that bounced and send to confirmed ones only',
  },
  complaints: {
    text: `more than ${LIMITS_PER_MILLE.complaints / 10} % of its recipients complained of spam`,
    remedy: 'Send only to people who asked for the mail, and make unsubscribing easy',
  },
};

/** The warm-up is paused: nothing is accepted until it is resumed. */
export function warmUpPaused(domain: string, use: Use, { pausedAt, reason }: Pause, now: Date): AppError {
  const { text, remedy } = REASONS[reason ?? 'bounces'];
  const resumesAt = new Date(Math.max(pausedAt.getTime() + PAUSE_MS, now.getTime() + SECOND));
  return exceeded(`The warm-up of the domain ${domain} is paused because ${text}`, use, resumesAt, now, {
    reason: 'warming_paused',
    suggestion: `${remedy}; sending resumes by itself a day after the pause, or when the operator resumes it`,
  });
}

/** @param resetsAt undefined when nobody knows */
export function exceeded(
  message: string,
  { limit, used, requested }: Use,
  resetsAt: Date | undefined,
  now: Date,
  { reason = 'warming', suggestion }: { reason?: string; suggestion: string },
): AppError {
  return new AppError('sending_limit_exceeded', message, {
    details: { limit, used, requested, reason, ...(resetsAt && { resetsAt: resetsAt.toISOString() }) },
    suggestion,
    ...(resetsAt && { retryAfterSeconds: Math.ceil((resetsAt.getTime() - now.getTime()) / SECOND) }),
  });
}
