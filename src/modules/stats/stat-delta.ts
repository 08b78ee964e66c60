import { HOUR } from '../../common/clock';
import type { Mode } from '../../common/tenant';

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

/** What is counted by receiver, too; `sent` are what the receivers took. */
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
 * say nothing of the sender.
 */
export type Counter = (typeof COUNTERS)[number];

export function isCountedByProvider(counter: Counter): boolean {
  return (PROVIDER_COUNTERS as readonly Counter[]).includes(counter);
}

/** Recipients of live mail, of all organizations together. */
export type SentAmounts = Readonly<Record<'accepted' | 'delivered' | 'deferred' | 'bounced', number>>;

/** Something to count at the moment when it happened. */
export interface StatDelta {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly domainId: string;
  readonly occurredAt: Date;
  readonly counter: Counter;
  readonly by: number;
  /** The group of receivers, for what is counted by it. */
  readonly provider?: string;
}

export interface HourlyDelta extends Record<Counter, number> {
  organizationId: string;
  mode: string;
  domainId: string;
  hour: Date;
  /** Null: not counted by receiver. */
  provider: string | null;
}

/** One row per organization, mode, domain, UTC hour and group of receivers: what a commit appends. */
export function sumDeltas(deltas: readonly StatDelta[]): HourlyDelta[] {
  const sums = new Map<string, HourlyDelta>();
  let sum: HourlyDelta | undefined;
  for (const delta of deltas) {
    // Neighbours mostly belong together, and making a key costs more than all the rest.
    if (!sum || !belongsTo(sum, delta)) sum = sumOf(delta, sums);
    sum[delta.counter] += delta.by;
  }
  return [...sums.values()];
}

function belongsTo(sum: HourlyDelta, { organizationId, mode, domainId, occurredAt, provider }: StatDelta): boolean {
  const age = occurredAt.getTime() - sum.hour.getTime();
  const sameOwner = sum.domainId === domainId && sum.organizationId === organizationId && sum.mode === mode;
  return sameOwner && sum.provider === (provider ?? null) && age >= 0 && age < HOUR;
}

function sumOf(
  { organizationId, mode, domainId, occurredAt, provider }: StatDelta,
  sums: Map<string, HourlyDelta>,
): HourlyDelta {
  const hour = Math.floor(occurredAt.getTime() / HOUR);
  const key = `${organizationId} ${mode} ${domainId} ${hour} ${provider ?? ''}`;
  const known = sums.get(key);
  if (known) return known;
  const fresh = { organizationId, mode, domainId, hour: new Date(hour * HOUR), provider: provider ?? null, ...ZERO };
  sums.set(key, fresh);
  return fresh;
}

const ZERO = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as Record<Counter, number>;
