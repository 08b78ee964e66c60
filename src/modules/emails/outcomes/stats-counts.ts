import type { Mode } from '../../../common/tenant';
import { type Counter, COUNTERS, type Period, type Sums } from '../../stats/stats.service';

/** A page of a recount: events that happened at or after `from` and before `to`. */
export interface RecountPage extends Period {
  readonly organizationId: string;
  readonly mode: Mode;
  /** The page starts after this id. */
  readonly after: string;
}

/** One count of a page; a page without any has one row of nulls. */
export interface RecountedRow {
  /** Number of rows of the page. */
  readonly read: number;
  /** Id of the last row; null for an empty page. */
  readonly lastId: string | null;
  readonly domainId: string | null;
  readonly hour: Date | null;
  readonly counter: Counter | null;
  readonly count: number | null;
}

/** Counters that are not zero, by domain, hour and name. */
export type Counts = ReadonlyMap<string, number>;

/** A counter that differs from the events. */
export interface Drift {
  readonly domainId: string;
  readonly hour: string;
  readonly counter: string;
  readonly stored: number;
  readonly counted: number;
}

export interface Comparison {
  /** Number of compared counters. */
  readonly compared: number;
  readonly drifts: readonly Drift[];
  /** Counters that changed during the recount, which have no result. */
  readonly unsettled: number;
}

function keyOf(domainId: string, hour: Date, counter: string): string {
  return `${domainId} ${hour.toISOString()} ${counter}`;
}

/** Stored counters by domain, hour and name, zeros left out. */
export function storedCounts(rows: readonly (Sums & { domainId: string; hour: Date })[]): Counts {
  const entries = rows.flatMap((row) =>
    COUNTERS.map((counter) => [keyOf(row.domainId, row.hour, counter), row[counter]] as const),
  );
  return new Map(entries.filter(([, count]) => count !== 0));
}

/** Adds a recounted row; one with a null is left out. */
export function addRecounted(counts: Map<string, number>, { domainId, hour, counter, count }: RecountedRow): void {
  if (domainId === null || hour === null || counter === null || count === null) return;
  const key = keyOf(domainId, hour, counter);
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/**
 * Compares the counters stored before and after a recount with its result. An event changes its counter in the same
 * transaction, so a counter that stayed the same had no new event meanwhile, and must agree.
 */
export function compareCounts(before: Counts, counted: Counts, after: Counts): Comparison {
  const keys = new Set([...before.keys(), ...counted.keys(), ...after.keys()]);
  const settled = [...keys].filter((key) => before.get(key) === after.get(key));
  const differing = settled.filter((key) => before.get(key) !== counted.get(key));
  const drifts = differing.map((key): Drift => {
    const [domainId = '', hour = '', counter = ''] = key.split(' ');
    return { domainId, hour, counter, stored: before.get(key) ?? 0, counted: counted.get(key) ?? 0 };
  });
  return { compared: keys.size, drifts, unsettled: keys.size - settled.length };
}
