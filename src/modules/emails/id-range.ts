import { HOUR } from '../../common/clock';
import { firstIdAt, LAST_ID, NIL_ID, timeOfId } from '../../common/ids';

/** Ids from `from` (inclusive) up to `to` (exclusive). */
export interface IdRange {
  readonly from: string;
  readonly to: string;
}

/** A span of time: from inclusive, to exclusive; open where undefined. */
export interface TimeRange {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** @param before an id that ends the range earlier */
export function idRange({ from, to }: TimeRange, before: string = LAST_ID): IdRange {
  const end = to ? firstIdAt(to) : LAST_ID;
  return { from: from ? firstIdAt(from) : NIL_ID, to: before < end ? before : end };
}

/** The parts of a span, newest first: a part of an hour, whole hours, a part of an hour. */
export interface SplitRange {
  readonly newest: IdRange | undefined;
  readonly hours: TimeRange | undefined;
  readonly oldest: IdRange | undefined;
}

/**
 * Splits a span at its whole hours. A span within one hour is only `newest`; one that ends before its start has no parts.
 * @param before an id that ends the span earlier
 */
export function splitAtHours(range: TimeRange, before?: string): SplitRange {
  const whole = idRange(range, before);
  const firstHour = ceilToHour(range.from);
  const lastHour = whole.to === LAST_ID ? undefined : floorToHour(timeOfId(whole.to));
  if (isAfter(firstHour, lastHour)) return { newest: nonEmpty(whole), hours: undefined, oldest: undefined };
  return {
    newest: lastHour && nonEmpty({ from: firstIdAt(lastHour), to: whole.to }),
    hours: firstHour?.getTime() === lastHour?.getTime() && firstHour ? undefined : { from: firstHour, to: lastHour },
    oldest: firstHour && nonEmpty({ from: whole.from, to: firstIdAt(firstHour) }),
  };
}

function isAfter(one: Date | undefined, other: Date | undefined): boolean {
  return one !== undefined && other !== undefined && one > other;
}

function ceilToHour(time: Date | undefined): Date | undefined {
  return time && new Date(Math.ceil(time.getTime() / HOUR) * HOUR);
}

function floorToHour(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR) * HOUR);
}

function nonEmpty(range: IdRange): IdRange | undefined {
  return range.from < range.to ? range : undefined;
}
