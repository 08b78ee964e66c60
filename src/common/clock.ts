/** The source of the process's time. Tests bind `FakeClock` (test/doubles) instead of `DatabaseClock`. */
export abstract class Clock {
  /** Wall-clock time: for timestamps that people and other systems see. */
  abstract now(): Date;
  /** Milliseconds that never jump: for leases and time limits. The origin is arbitrary. */
  abstract monotonicMs(): number;

  /** False: the process's clock contradicts the database's, so it may not claim, end or remove anything. */
  get isReliable(): boolean {
    return true;
  }
}

/** The operating system's clock. */
export class SystemClock extends Clock {
  now(): Date {
    return new Date(Date.now());
  }

  monotonicMs(): number {
    return performance.now();
  }
}

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Largest accepted difference between the process's clock and the database's. */
const MAX_OFFSET_MS = 5 * SECOND;
/** Smaller differences change nothing, so that the time does not jump with the delay of each reading. */
const JITTER_MS = 50;

/** The database's time, read at a moment of this process's clocks. */
export interface ClockReading {
  readonly databaseNow: Date;
  readonly ownNow: Date;
  readonly monotonicMs: number;
  /** Uncertainty of the reading: half of the round trip. */
  readonly errorMs: number;
}

/**
 * The clock that all processes share, so that a wrong clock on one host neither ends nor repeats mail: the database's
 * time at the last reading, plus the monotonic time since then.
 *
 *   unread ──reading──► right ◄──readings──► wrong: the own clock is more than 5 s off
 *
 * Unread, it returns the process's own time. It is reliable only while it is right.
 */
export class DatabaseClock extends Clock {
  private anchor: { readonly databaseMs: number; readonly monotonicMs: number } | undefined;
  private state: 'unread' | 'right' | 'wrong' = 'unread';
  private aheadMs = 0;

  constructor(private readonly own: Clock = new SystemClock()) {
    super();
  }

  override get isReliable(): boolean {
    return this.state === 'right';
  }

  get isRead(): boolean {
    return this.state !== 'unread';
  }

  /** How far the own clock is ahead of the database's; 0 until there is a reading. */
  get offsetMs(): number {
    return this.aheadMs;
  }

  now(): Date {
    return new Date(this.expectedMs(this.monotonicMs()) ?? this.own.now().getTime());
  }

  monotonicMs(): number {
    return this.own.monotonicMs();
  }

  ownNow(): Date {
    return this.own.now();
  }

  /** True when it changes `isReliable`. */
  read({ databaseNow, ownNow, monotonicMs, errorMs }: ClockReading): boolean {
    const databaseMs = databaseNow.getTime();
    const expectedMs = this.expectedMs(monotonicMs);
    const isAsExpected = expectedMs !== undefined && Math.abs(databaseMs - expectedMs) <= JITTER_MS + errorMs;
    if (!isAsExpected) this.anchor = { databaseMs, monotonicMs };
    this.aheadMs = ownNow.getTime() - databaseMs;
    const before = this.state;
    this.state = Math.abs(this.aheadMs) > MAX_OFFSET_MS + errorMs ? 'wrong' : 'right';
    return this.state !== before;
  }

  private expectedMs(monotonicMs: number): number | undefined {
    return this.anchor && this.anchor.databaseMs + monotonicMs - this.anchor.monotonicMs;
  }
}
