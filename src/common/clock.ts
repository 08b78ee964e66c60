/** Where the process takes its time from. Tests bind `FakeClock` (test/doubles) instead of `SystemClock`. */
export abstract class Clock {
  /** Wall-clock time: for timestamps that people and other systems see. */
  abstract now(): Date;
  /** Milliseconds that never jump: for leases and time limits. The origin is arbitrary. */
  abstract monotonicMs(): number;
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
