import { DAY } from '../../../common/clock';
import type { PauseReason } from '../registry/domain.entity';

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

/** What is above its limit, bounces first; undefined as well for too few recipients. @param times of the limits */
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
