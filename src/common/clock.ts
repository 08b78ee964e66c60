/** Where the process takes its time from. Tests bind `FakeClock` (test/doubles) instead of `DatabaseClock`. */
export abstract class Clock {
  /** Wall-clock time: for timestamps that people and other systems see. */
  abstract now(): Date;
  /** Milliseconds that never jump: for leases and time limits. The origin is arbitrary. */
  abstract monotonicMs(): number;

  /** False: nothing may be claimed, ended or removed by this process, for its own clock contradicts the database's. */
  get isReliable(): boolean {
    return true;
  }
}

/** The operating system's clocks. */
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

/** How far the process's own clock may be from the database's: past it, nothing is decided here. */
const MAX_OFFSET_MS = 5 * SECOND;
/** Readings this close to what is expected change nothing, so that the time does not jump with each answer's delay. */
const JITTER_MS = 50;

/** The database's time, read at a moment of this process's clocks. */
export interface ClockReading {
  readonly databaseNow: Date;
  readonly ownNow: Date;
  readonly monotonicMs: number;
  /** How far off the reading may be: half of the round trip. */
  readonly errorMs: number;
}

/**
 * The clock that all processes share, so that none of them ends or repeats mail because its own clock is wrong: the database's
 * time at the last reading, and what has passed since by the monotonic clock.
 *
 *   unread ──reading──► right ◄──readings──► wrong: the own clock is more than 5 s off
 *
 * Unread it shows the own clock's time. Reliable is it when right: a clock that is wrong may have been wrong in other ways.
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

  /** Whether the database's clock has been read at all. */
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

  /** The process's own wall clock. */
  ownNow(): Date {
    return this.own.now();
  }

  /** True when it changes what `isReliable` says. */
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
