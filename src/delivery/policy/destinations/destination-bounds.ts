import { type Clock, MINUTE, SECOND } from '../../../common/clock';

// Input, output and state of the destination limiter: apart from it, as other files use these types too.

/**
 * What the conversation in a slot showed of its destination. `success`: it takes our mail. `throttled`: it works but wants
 * less. `suspended`: it refuses this service as such. `unreachable`: no conversation was established. `interrupted`: one was, and
 * failed at a message, which may be the cause. `neutral`: nothing about speed.
 */
export type ReleaseSignal = 'success' | 'throttled' | 'suspended' | 'unreachable' | 'interrupted' | 'neutral';

export interface DestinationLimiterOptions {
  /** Conversations at a time, of all destinations together. */
  readonly slots: number;
  /** Where a new destination starts. */
  readonly startConcurrency: number;
  readonly maximumConcurrency: number;
  /** Most destinations that are remembered; the longest unused are dropped first. */
  readonly maximumDestinations: number;
  /** A relay passes on other servers' replies to single mails: those slow it, but hold back no other mail. */
  readonly sharedHop: boolean;
}

export const DESTINATION_LIMITER_DEFAULTS: Omit<DestinationLimiterOptions, 'slots'> = {
  startConcurrency: 2,
  maximumConcurrency: 20,
  maximumDestinations: 10_000,
  sharedHop: false,
};

/** One line for health and metrics. */
export interface DestinationState {
  readonly destination: string;
  readonly state: 'open' | 'paused' | 'probing';
  /** Conversations allowed at a time; 0 while paused. */
  readonly limit: number;
  readonly active: number;
  /** What the last reduction was for. */
  readonly cause?: string;
  /** When the pause ends. */
  readonly pausedUntil?: Date;
}

/** What happened to a destination last, at this worker or another: paused, opened again, or reduced. */
export interface DestinationChange {
  /** 0: no pause. */
  readonly pausedForMs: number;
  /** Pauses in a row. */
  readonly pauses: number;
  /** Conversations that were left; irrelevant while paused. */
  readonly limit: number;
  readonly cause?: string | undefined;
}

/** Limits of this worker for a group of destinations, whatever its own experience. */
export interface Bounds {
  readonly isPaused: boolean;
  /** Conversations at a time. */
  readonly maxConnections?: number;
  /** Attempts begun. */
  readonly ratePerMinute?: number;
  readonly messagesPerConnection?: number;
}

/** A rate may be used up in a burst of this length: the queue is checked every second. */
const BURST_MS = 2 * SECOND;
/** A claim asks for each destination that it sees, and of one tenant there may be any number. */
const MOST_KNOWN = 10_000;

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** How busy a group is. */
export interface Load {
  readonly key: string;
  readonly limit: number;
  readonly active: number;
}

/**
 * Limits by group that come from outside: rules, and this worker's part of limits that all workers share. A group without
 * any is not here. Rates are buckets of tokens, full at first.
 */
export class DestinationBounds {
  private boundsOf: (key: string) => Bounds | undefined = () => undefined;
  private bounded: readonly string[] = [];
  private readonly known = new Map<string, Bounds | undefined>();
  private readonly buckets = new Map<string, Bucket>();

  constructor(private readonly clock: Clock) {}

  /**
   * Replaces all bounds; rates keep their remaining tokens.
   * @param boundsOf called about once per group
   * @param bounded groups known to have bounds, in use or not
   */
  replace(boundsOf: (key: string) => Bounds | undefined, bounded: readonly string[]): void {
    this.boundsOf = boundsOf;
    this.bounded = bounded;
    this.known.clear();
    for (const key of this.buckets.keys()) if (this.of(key)?.ratePerMinute === undefined) this.buckets.delete(key);
  }

  /** Groups that are bounded, as far as they were named. */
  keys(): Iterable<string> {
    return this.bounded;
  }

  /** Conversations at a time; Infinity without a bound. */
  limitOf(key: string): number {
    const bounds = this.of(key);
    if (bounds === undefined) return Infinity;
    return bounds.isPaused ? 0 : (bounds.maxConnections ?? Infinity);
  }

  /** How many more attempts may begin now, by connections and by rate. */
  roomFor(key: string, active: number): number {
    const bounds = this.of(key);
    if (bounds === undefined) return Infinity;
    const room = Math.max(0, this.limitOf(key) - active);
    return bounds.ratePerMinute === undefined
      ? room
      : Math.min(room, Math.floor(this.tokensOf(key, bounds.ratePerMinute)));
  }

  /** An attempt begins. */
  take(key: string): void {
    const rate = this.of(key)?.ratePerMinute;
    if (rate === undefined) return;
    this.tokensOf(key, rate);
    const bucket = this.buckets.get(key);
    if (bucket) bucket.tokens -= 1;
  }

  messagesPerConnection(key: string): number | undefined {
    return this.of(key)?.messagesPerConnection;
  }

  private of(key: string): Bounds | undefined {
    if (this.known.has(key)) return this.known.get(key);
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    const bounds = this.boundsOf(key);
    this.known.set(key, bounds);
    return bounds;
  }

  private tokensOf(key: string, ratePerMinute: number): number {
    const nowMs = this.clock.monotonicMs();
    // A worker without a part of the rate begins nothing, not even a first one.
    const size = ratePerMinute > 0 ? Math.max(1, (ratePerMinute * BURST_MS) / MINUTE) : 0;
    const bucket = this.buckets.get(key) ?? { tokens: size, filledAtMs: nowMs };
    const tokens = bucket.tokens + ((nowMs - bucket.filledAtMs) * ratePerMinute) / MINUTE;
    bucket.tokens = Math.min(size, tokens);
    bucket.filledAtMs = nowMs;
    this.buckets.set(key, bucket);
    return bucket.tokens;
  }
}
