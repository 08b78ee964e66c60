import { HOUR } from '../../common/clock';
import type { Mode } from '../../common/tenant';

/** From inclusive, to exclusive. */
export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** The whole UTC hours that a period touches: counters are kept per hour. */
export function wholeHours({ from, to }: Period): Period {
  return { from: hourOf(from), to: new Date(Math.ceil(to.getTime() / HOUR) * HOUR) };
}

/** The hours of a period, oldest first. @param period whole hours */
export function hoursOf({ from, to }: Period): Date[] {
  const count = Math.max(0, (to.getTime() - from.getTime()) / HOUR);
  return Array.from({ length: count }, (_, index) => new Date(from.getTime() + index * HOUR));
}

/** The start of the UTC hour of a time. */
export function hourOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR) * HOUR);
}

export const COUNTERS = [
  'emails',
  'accepted',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'deferred',
  'complaints',
  'unsubscribes',
  'opens',
  'clicks',
  'excused',
] as const;

/** Counters that are also kept by group of receivers, in the order of their sums; `sent` are the recipients that receivers accepted. */
export const PROVIDER_COUNTERS = [
  'sent',
  'delivered',
  'deferred',
  'bounced',
  'excused',
  'complaints',
] as const satisfies readonly Counter[];

/**
 * `emails` and `accepted` count emails and their recipients; the rest count recipients. `excused` are those of `bounced` that
 * are unrelated to the sender.
 */
export type Counter = (typeof COUNTERS)[number];

/** Whether a counter is also kept by provider. */
export function isCountedByProvider(counter: Counter): boolean {
  return PLACES.has(counter);
}

/** Recipients of live mail, of all organizations together. */
export type SentAmounts = Readonly<Record<'accepted' | 'delivered' | 'deferred' | 'bounced', number>>;

/** Something to count, at the time when it happened. */
export interface StatDelta {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly domainId: string;
  readonly occurredAt: Date;
  readonly counter: Counter;
  readonly by: number;
  /** The group of receivers, for counters that are kept by it. */
  readonly provider?: string | undefined;
}

export interface HourlyDelta extends Record<Counter, number> {
  organizationId: string;
  mode: string;
  domainId: string;
  hour: Date;
  /** Sums by group of receivers, in the order of `PROVIDER_COUNTERS`; null when there are none. */
  byProvider: Record<string, number[]> | null;
}

/** Sums deltas to one row per organization, mode, domain and UTC hour, which a commit appends. */
export function sumDeltas(deltas: readonly StatDelta[]): HourlyDelta[] {
  const sums = new Map<string, HourlyDelta>();
  let sum: HourlyDelta | undefined;
  for (const delta of deltas) {
    // Adjacent deltas mostly belong to the same row, and building a key costs more than the rest.
    if (!sum || !belongsTo(sum, delta)) sum = sumOf(delta, sums);
    sum[delta.counter] += delta.by;
    if (delta.provider !== undefined) addToProvider(sum, delta.provider, delta);
  }
  return [...sums.values()];
}

function belongsTo(sum: HourlyDelta, { organizationId, mode, domainId, occurredAt }: StatDelta): boolean {
  const age = occurredAt.getTime() - sum.hour.getTime();
  const sameOwner = sum.domainId === domainId && sum.organizationId === organizationId && sum.mode === mode;
  return sameOwner && age >= 0 && age < HOUR;
}

function sumOf({ organizationId, mode, domainId, occurredAt }: StatDelta, sums: Map<string, HourlyDelta>): HourlyDelta {
  const hour = Math.floor(occurredAt.getTime() / HOUR);
  const key = `${organizationId} ${mode} ${domainId} ${hour}`;
  const known = sums.get(key);
  if (known) return known;
  const fresh = { organizationId, mode, domainId, hour: new Date(hour * HOUR), byProvider: null, ...ZERO };
  sums.set(key, fresh);
  return fresh;
}

function addToProvider(sum: HourlyDelta, provider: string, { counter, by }: StatDelta): void {
  const place = PLACES.get(counter);
  if (place === undefined) return;
  sum.byProvider ??= {};
  const counts = (sum.byProvider[provider] ??= PROVIDER_COUNTERS.map(() => 0));
  counts[place] = (counts[place] ?? 0) + by;
}

const PLACES: ReadonlyMap<Counter, number> = new Map(PROVIDER_COUNTERS.map((counter, place) => [counter, place]));
const ZERO = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as Record<Counter, number>;
