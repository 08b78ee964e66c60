import type { Hour } from '../api/types';

export interface Period {
  readonly from: string;
  readonly to: string;
}

const HOUR_MS = 3_600_000;

/** The period of so many hours that ends with the hour that has begun. */
export function lastHours(hours: number, nowMs: number = Date.now()): Period {
  const end = Math.ceil(nowMs / HOUR_MS) * HOUR_MS;
  return { from: new Date(end - hours * HOUR_MS).toISOString(), to: new Date(end).toISOString() };
}

/** The period of the same length before it. */
export function before({ from, to }: Period): Period {
  const length = new Date(to).getTime() - new Date(from).getTime();
  return { from: new Date(new Date(from).getTime() - length).toISOString(), to: from };
}

/** The API returns hours of seven days at most: the pieces of a longer period. */
export function weeksOf({ from, to }: Period): Period[] {
  const pieces: Period[] = [];
  const end = new Date(to).getTime();
  for (let start = new Date(from).getTime(); start < end; start += 168 * HOUR_MS) {
    pieces.push({
      from: new Date(start).toISOString(),
      to: new Date(Math.min(end, start + 168 * HOUR_MS)).toISOString(),
    });
  }
  return pieces;
}

export type Counts = Pick<Hour, 'total' | 'sent' | 'delivered' | 'bounced' | 'opens' | 'clicks'>;
const COUNTS = ['total', 'sent', 'delivered', 'bounced', 'opens', 'clicks'] as const;

/** Hours added up in steps of so many, each under the time of its first. */
export function inSteps(hours: readonly Hour[], step: number): (Counts & { readonly hour: string })[] {
  const steps: (Counts & { hour: string })[] = [];
  hours.forEach((hour, index) => {
    const open = steps.at(-1);
    if (open === undefined || index % step === 0) steps.push({ ...hour });
    else for (const name of COUNTS) open[name] += hour[name];
  });
  return steps;
}
