import { DAY, HOUR } from '../../../common/clock';
import type { PauseReason, SendingState } from '../registry/domain.entity';

/** Of a thousand recipients: above that a domain is restricted. 0.3 % of complaints is where Gmail and Yahoo lose patience. */
export const LIMITS_PER_MILLE: Readonly<Record<PauseReason, number>> = { bounces: 50, complaints: 3 };
/** Fewer recipients than these prove nothing. */
export const MIN_RECIPIENTS = 100;
/** How long a pause lasts unless the operator ends it. */
export const PAUSE_MS = DAY;

/** Of one domain over the window it is evaluated by. */
export interface Counts {
  /** Recipients. */
  readonly accepted: number;
  readonly bounced: number;
  readonly complaints: number;
}

export const NO_COUNTS: Counts = { accepted: 0, bounced: 0, complaints: 0 };

/** The rate above its limit, bounces first; also undefined for too few recipients. @param times of the limits */
export function exceededLimit(counts: Counts, times = 1): PauseReason | undefined {
  if (counts.accepted < MIN_RECIPIENTS) return undefined;
  return (['bounces', 'complaints'] as const).find((reason) => isAboveLimit(reason, counts, times));
}

/**
 * In whole numbers: 5 of 100 is not above 5 %, whatever floating point makes of it. Several times a limit takes as many
 * events at least: a single complaint is never twice too many.
 */
export function isAboveLimit(reason: PauseReason, { accepted, bounced, complaints }: Counts, times = 1): boolean {
  const count = reason === 'bounces' ? bounced : complaints;
  return accepted > 0 && count >= times && count * 1_000 > accepted * LIMITS_PER_MILLE[reason] * times;
}

/**
 * The first moment that counts: 24 hours back, but nothing from before the last resumption, which would restrict the
 * domain again at once. Counts are kept by the hour, so an hour counts when it began after that.
 */
export function evaluatedFrom(now: Date, ...resumptions: readonly (Date | null)[]): Date {
  return new Date(Math.max(now.getTime() - DAY, ...resumptions.map((time) => time?.getTime() ?? 0)));
}

/** The audit data of a change for which counts are the reason. */
export function evidenceOf({ accepted, bounced, complaints }: Counts) {
  return { recipients: accepted, bounced, complaints };
}

/** How long a slowed domain has to be below the limits, and how long one that is above has to improve. */
export const PATIENCE_MS = HOUR;
/** Recipients a UTC day that a slowed domain has in any case. */
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
 * Decides on a domain's sending. The limits are 5 % of bounces and 0.3 % of complaints, of at least 100 recipients within 24
 * hours.
 *
 * active → slowed above a limit. slowed → paused above twice a limit at once; above a limit after an hour if the mail sent
 * since it was slowed is above it as well: a domain that has stopped, or sends clean mail now, is not restricted further for
 * the same mail. slowed → active once below the limits for an hour without a break. paused → slowed after 24 hours, evaluated
 * from then on.
 *
 * The operator pauses a domain in any state, until the operator resumes it; and takes it from slowed or paused to active,
 * evaluated from then on.
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
