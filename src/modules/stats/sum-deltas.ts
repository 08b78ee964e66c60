import { HOUR } from '../../common/clock';
import { type Counter, COUNTERS, type StatDelta } from './stat-delta';

export interface HourlyDelta extends Record<Counter, number> {
  organizationId: string;
  mode: string;
  domainId: string;
  hour: Date;
}

/** One row per organization, mode, domain and UTC hour: what a commit appends. */
export function sumDeltas(deltas: readonly StatDelta[]): HourlyDelta[] {
  const sums = new Map<string, HourlyDelta>();
  for (const { organizationId, mode, domainId, occurredAt, counter, by } of deltas) {
    const hour = Math.floor(occurredAt.getTime() / HOUR);
    const key = `${organizationId} ${mode} ${domainId} ${hour}`;
    let sum = sums.get(key);
    if (!sum) {
      sum = { organizationId, mode, domainId, hour: new Date(hour * HOUR), ...ZERO };
      sums.set(key, sum);
    }
    sum[counter] += by;
  }
  return [...sums.values()];
}

const ZERO = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as Record<Counter, number>;
