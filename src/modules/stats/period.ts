import { HOUR } from '../../common/clock';

/** From inclusive, to exclusive. */
export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** The UTC hours that a period touches, whole: counters know nothing smaller. */
export function wholeHours({ from, to }: Period): Period {
  return { from: hourOf(from), to: new Date(Math.ceil(to.getTime() / HOUR) * HOUR) };
}

/** The hours of whole hours, oldest first. */
export function hoursOf({ from, to }: Period): Date[] {
  const count = Math.max(0, (to.getTime() - from.getTime()) / HOUR);
  return Array.from({ length: count }, (_, index) => new Date(from.getTime() + index * HOUR));
}

/** The UTC hour of a moment; neither time zones nor summer time matter. */
export function hourOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR) * HOUR);
}
