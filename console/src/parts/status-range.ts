import type { Hour } from '../api/types';

export interface Period {
  readonly from: string;
  readonly to: string;
}

export const HOUR_MS = 3_600_000;

/** The period of so many hours that ends with the hour that has begun. */
export function lastHours(hours: number, nowMs: number): Period {
  const end = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS;
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

export interface Step extends Counts {
  /** When it begins, UTC. */
  readonly hour: string;
  /** How many of its hours are counted: fewer than it has at the ends of a period. */
  readonly hours: number;
}

/** Hours added up in steps of so many, which begin at midnight UTC as days do. */
export function inSteps(hours: readonly Hour[], step: number): Step[] {
  const steps: (Counts & { hour: string; hours: number })[] = [];
  const stepMs = step * HOUR_MS;
  for (const hour of hours) {
    const start = new Date(Math.floor(Date.parse(hour.hour) / stepMs) * stepMs).toISOString();
    let open = steps.at(-1);
    if (open?.hour !== start) {
      open = { hour: start, hours: 0, total: 0, sent: 0, delivered: 0, bounced: 0, opens: 0, clicks: 0 };
      steps.push(open);
    }
    open.hours += 1;
    for (const name of COUNTS) open[name] += hour[name];
  }
  return steps;
}
