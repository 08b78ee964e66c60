import { HOUR } from '../../../common/clock';
import type { PauseReason, SendingState } from '../registry/domain.entity';
import { type Counts, exceededLimit, isAboveLimit, PAUSE_MS } from './rates';

/** How long a slowed domain has to be below the limits, and how long one that is above has to improve. */
export const PATIENCE_MS = HOUR;
/** Recipients a UTC day that a slowed domain may send to in any case. */
const MIN_DAILY_LIMIT = 100;

export type RestrictionDecision =
  | { readonly change: 'slow' | 'pause'; readonly reason: PauseReason }
  /** `ease`: from paused to slowed. `resume`: from slowed to active. */
  | { readonly change: 'ease' | 'resume' }
  /** Nothing changes but since when it has been below. */
  | { readonly change: 'note'; readonly belowSince: Date | null }
  | { readonly change: 'none' };

/** What a domain has done. */
export interface SendingRecord {
  /** Over 24 hours, though not from before the last resumption. */
  readonly day: Counts;
  /** Since it has been in its state. */
  readonly sinceChange: Counts;
}

const NONE: RestrictionDecision = { change: 'none' };

/**
 * What becomes of a domain's sending now. The limits are 5 % of bounces and 0.3 % of complaints, of at least 100
 * recipients within 24 hours.
 *
 * active → slowed above a limit.
 * slowed → paused above twice a limit at once; above a limit after an hour if the mail sent since it was slowed is above
 * it as well: a domain that has stopped, or sends clean mail now, is not restricted further for the
 * same mail.
 * slowed → active once below the limits for an hour without a break.
 * paused → slowed after 24 hours, evaluated from then on.
 *
 * The operator pauses a domain in any state, until the operator resumes it; and takes it from slowed or paused to
 * active, evaluated from then on.
 */
export function evaluateRestriction(state: SendingState, record: SendingRecord, now: Date): RestrictionDecision {
  switch (state.status) {
    case 'active': {
      const reason = exceededLimit(record.day);
      return reason ? { change: 'slow', reason } : NONE;
    }
    case 'slowed':
      return evaluateSlowed(state, record, now);
    case 'paused':
      return state.reason !== 'operator' && hasPassed(PAUSE_MS, state.since, now) ? { change: 'ease' } : NONE;
  }
}

function evaluateSlowed(
  { since, belowSince }: SendingState,
  { day, sinceChange }: SendingRecord,
  now: Date,
): RestrictionDecision {
  const reason = exceededLimit(day);
  if (!reason) {
    if (!belowSince) return { change: 'note', belowSince: now };
    return hasPassed(PATIENCE_MS, belowSince, now) ? { change: 'resume' } : NONE;
  }
  const farAbove = exceededLimit(day, 2);
  if (farAbove) return { change: 'pause', reason: farAbove };
  if (hasPassed(PATIENCE_MS, since, now) && isAboveLimit(reason, sinceChange)) return { change: 'pause', reason };
  return belowSince ? { change: 'note', belowSince: null } : NONE;
}

/** Recipients a UTC day while it is slowed: a tenth of what it sent in the 24 hours before. */
export function slowedLimit({ accepted }: Counts): number {
  return Math.max(MIN_DAILY_LIMIT, Math.floor(accepted / 10));
}

function hasPassed(ms: number, since: Date | null, now: Date): boolean {
  return now.getTime() >= (since?.getTime() ?? 0) + ms;
}
