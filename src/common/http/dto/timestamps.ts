import { MINUTE, SECOND } from '../../clock';
import { ValidationError } from '../../errors/app-error';

const SHAPE = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?))?$/i;

/** Beyond these a client means something else, and arithmetic on them leaves what Postgres and ISO 8601 can write. */
const EARLIEST = Date.UTC(1970, 0, 1);
const END = Date.UTC(3000, 0, 1);

/** The same for messages. */
export const WITHIN_YEARS = 'in the years 1970 to 2999';

const LONGEST = 40;

/**
 * Reads an ISO 8601 timestamp in the profile of RFC 3339: `2026-11-20T10:00:00Z`, with an offset, with a fraction (cut to
 * milliseconds), or a date alone, which means midnight UTC. Beyond the profile: without seconds, and offsets as `+0100` and
 * `+01`, which libraries of other languages write. Undefined for all else: no offset, no such day, a leap second, a year
 * outside 1970–2999.
 */
export function parseTimestamp(text: unknown): Date | undefined {
  const match = typeof text === 'string' && text.length <= LONGEST ? SHAPE.exec(text) : null;
  // Not by its truth: the first instant of 1970 is zero.
  const instant = match === null ? undefined : instantOf(match);
  return instant !== undefined && instant >= EARLIEST && instant < END ? new Date(instant) : undefined;
}

/** Of a list's filter. @throws ValidationError when nothing can be in it */
export function assertSpan({ from, to }: { readonly from?: Date | undefined; readonly to?: Date | undefined }): void {
  if (from && to && to <= from) throw new ValidationError({ to: ['to must be after from'] });
}

function instantOf(match: RegExpExecArray): number | undefined {
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', ...offset] = match;
  const offsetMs = offsetOf(offset[0], offset[1], offset[2]);
  if (offsetMs === undefined || !isTime(Number(hour), Number(minute), Number(second))) return undefined;
  if (!isDay(Number(year), Number(month), Number(day))) return undefined;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  return midnight + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * SECOND + milliseconds - offsetMs;
}

function isTime(hour: number, minute: number, second: number): boolean {
  return hour <= 23 && minute <= 59 && second <= 59;
}

/** Years before 100 would be read as 19xx; they are out of range either way. */
function isDay(year: number, month: number, day: number): boolean {
  if (year < 1900 || month < 1 || month > 12 || day < 1) return false;
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function offsetOf(
  sign: string | undefined,
  hours: string | undefined,
  minutes: string | undefined,
): number | undefined {
  if (sign === undefined) return 0;
  const hour = Number(hours);
  const minute = Number(minutes ?? 0);
  if (!isTime(hour, minute, 0)) return undefined;
  return (sign === '-' ? -1 : 1) * (hour * 60 + minute) * MINUTE;
}
