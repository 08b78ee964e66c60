import { SECOND } from '../../../common/clock';
import type { AppError } from '../../../common/errors/app-error';
import type { SendingState } from '../domain.entity';
import { exceeded, REASONS, type Use } from './warm-up/warm-up-refusals';
import { nextDay } from './warm-up/warm-up-schedule';
import { PAUSE_MS } from './rates';

type Restriction = Pick<SendingState, 'reason' | 'since'>;

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
