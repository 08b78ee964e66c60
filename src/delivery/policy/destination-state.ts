// Input, output and state of the destination limiter: apart from it, as other files use these types too.

/**
 * What the conversation in a slot showed of its destination. `success`: it takes our mail. `throttled`: it lives, but wants less
 * of us. `suspended`: it refuses this service as such. `unreachable`: no conversation came about. `neutral`: nothing that
 * bears on speed.
 */
export type ReleaseSignal = 'success' | 'throttled' | 'suspended' | 'unreachable' | 'neutral';

export interface DestinationLimiterOptions {
  /** Conversations at a time, of all destinations together. */
  readonly slots: number;
  /** Where a new destination starts. */
  readonly startConcurrency: number;
  readonly maximumConcurrency: number;
  /** Most destinations that are remembered; the longest unused are dropped first. */
  readonly maximumDestinations: number;
  /** A relay hands on what other servers say of single mails: that slows it, but does not suspend it for all mail. */
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
