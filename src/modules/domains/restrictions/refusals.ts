import { SECOND } from '../../../common/clock';
import { AppError } from '../../../common/errors/app-error';
import type { PauseReason, SendingState } from '../registry/domain.entity';
import { LIMITS_PER_MILLE, PAUSE_MS } from './rates';
import { nextDay } from './warm-up-schedule';

export interface Use {
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
}

type Restriction = Pick<SendingState, 'reason' | 'since'>;

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

/** Each reason in words, and what helps. */
const REASONS: Record<PauseReason, { text: string; remedy: string }> = {
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

/** The day's recipients of a slowed domain are used up, or fewer are left than the email has. */
export function sendingSlowed(domain: string, use: Use, { reason }: Restriction, now: Date): AppError {
  const { limit, used, requested } = use;
  const { text, remedy } = explain(reason);
  const counts = `${limit} recipients today, of which ${used} are used and ${requested} more were asked for`;
  return exceeded(`The domain ${domain} is slowed because ${text}: it may send to ${counts}`, use, nextDay(now), now, {
    reason: 'sending_slowed',
    suggestion: `${remedy}; it may send to ${limit} recipients a day until it has been below for an hour, or the operator lifts that`,
  });
}

/** Nothing is accepted until the pause is over. */
export function sendingPaused(domain: string, use: Use, { reason, since }: Restriction, now: Date): AppError {
  const { text, remedy } = explain(reason);
  const message = `Sending from the domain ${domain} is paused because ${text}`;
  const isTimed = reason !== 'operator' && since !== null;
  const resumesAt = isTimed ? new Date(Math.max(since.getTime() + PAUSE_MS, now.getTime() + SECOND)) : undefined;
  const ending = isTimed
    ? 'sending resumes slowly a day after the pause, or when the operator resumes it'
    : 'sending resumes when the operator resumes it';
  return exceeded(message, use, resumesAt, now, {
    reason: 'sending_paused',
    suggestion: `${remedy}; it may send to ${use.limit} recipients until then, and ${ending}`,
  });
}

function explain(reason: Restriction['reason']): { text: string; remedy: string } {
  if (reason === 'bounces' || reason === 'complaints') return REASONS[reason];
  return { text: 'the operator has paused it', remedy: 'Ask the operator what is wrong' };
}

/** @param resetsAt undefined when that is not known */
function exceeded(
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
