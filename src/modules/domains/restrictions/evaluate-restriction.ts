import { DAY, HOUR } from '../../../common/clock';
import type { PauseReason, SendingState } from '../registry/domain.entity';

/** Per thousand recipients: above these rates a domain is restricted. Gmail and Yahoo require less than 0.3 % of complaints. */
export const LIMITS_PER_MILLE: Readonly<Record<PauseReason, number>> = { bounces: 50, complaints: 3 };
/** Fewer recipients are not significant. */
export const MIN_RECIPIENTS = 100;
/** How long a pause lasts unless the operator ends it. */
export const PAUSE_MS = DAY;

/** Counts of one domain over its evaluation window. */
export interface Counts {
  /** Recipients. */
  readonly accepted: number;
  readonly bounced: number;
  readonly complaints: number;
}

export const NO_COUNTS: Counts = { accepted: 0, bounced: 0, complaints: 0 };

/** The rate above its limit, bounces first; undefined when there is none or too few recipients. @param times multiplies the limits */
export function exceededLimit(counts: Counts, times = 1): PauseReason | undefined {
  if (counts.accepted < MIN_RECIPIENTS) return undefined;
  return (['bounces', 'complaints'] as const).find((reason) => isAboveLimit(reason, counts, times));
}

/**
 * Compares integers, so that 5 of 100 is not above 5 % because of floating point. A multiple of a limit needs at least as many
 * events: a single complaint never exceeds twice the limit.
 */
export function isAboveLimit(reason: PauseReason, { accepted, bounced, complaints }: Counts, times = 1): boolean {
  const count = reason === 'bounces' ? bounced : complaints;
  return accepted > 0 && count >= times && count * 1_000 > accepted * LIMITS_PER_MILLE[reason] * times;
}

/**
 * The start of the evaluation window: 24 hours back, but not before the last resumption, which would restrict the domain
 * again at once. Counts are kept by the hour; an hour counts when it began at or after that time.
 */
export function evaluatedFrom(now: Date, ...resumptions: readonly (Date | null)[]): Date {
  return new Date(Math.max(now.getTime() - DAY, ...resumptions.map((time) => time?.getTime() ?? 0)));
}

/** The audit data of a change that was made because of counts. */
export function evidenceOf({ accepted, bounced, complaints }: Counts) {
  return { recipients: accepted, bounced, complaints };
}

/** How long a slowed domain must stay below the limits to be resumed, and may stay above them before it is paused. */
export const PATIENCE_MS = HOUR;
/** The lowest daily limit of a slowed domain, in recipients per UTC day. */
const MIN_DAILY_LIMIT = 100;

export type RestrictionDecision =
  | { readonly change: 'slow' | 'pause'; readonly reason: PauseReason }
  /** `ease`: from paused to slowed. `resume`: from slowed to active. */
  | { readonly change: 'ease' | 'resume' }
  /** The status stays; only the time since which the domain has been below its limits changes. */
  | { readonly change: 'note'; readonly belowSince: Date | null }
  | { readonly change: 'none' };

/** The results of a domain's mail. */
export interface SendingRecord {
  /** Of the last 24 hours, but not before the last resumption. */
  readonly day: Counts;
  /** Since the last change of its status. */
  readonly sinceChange: Counts;
}

const NONE: RestrictionDecision = { change: 'none' };

/**
 * Decides on a domain's sending. The limits are 5 % of bounces and 0.3 % of complaints, of at least 100 recipients within 24
 * hours.
 *
 * active → slowed above a limit. slowed → paused at once above twice a limit; above a limit after an hour if the mail sent
 * since it was slowed is above it as well: a domain that has stopped, or sends clean mail now, is not restricted further for
 * the same mail. slowed → active after an uninterrupted hour below the limits. paused → slowed after 24 hours, evaluated from
 * then on.
 *
 * The operator can pause a domain in any state, until the operator resumes it, and can set it from slowed or paused to active,
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

/** The daily limit of a slowed domain in recipients per UTC day: a tenth of what it sent in the 24 hours before. */
export function slowedLimit({ accepted }: Counts): number {
  return Math.max(MIN_DAILY_LIMIT, Math.floor(accepted / 10));
}

function hasPassed(ms: number, since: Date | null, now: Date): boolean {
  return now.getTime() >= (since?.getTime() ?? 0) + ms;
}
