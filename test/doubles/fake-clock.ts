import { Clock } from '../../src/common/clock';

/** A clock that stands still until a test moves it. Wall-clock and monotonic time move together. */
export class FakeClock extends Clock {
  private currentMs: number;
  private elapsedMs = 0;

  constructor(start: Date | string = '2026-01-05T12:00:00.000Z') {
    super();
    this.currentMs = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.currentMs);
  }

  monotonicMs(): number {
    return this.elapsedMs;
  }

  advance(ms: number): void {
    if (ms < 0) throw new RangeError('advance goes forward only; set() may turn the wall clock back');
    this.currentMs += ms;
    this.elapsedMs += ms;
  }

  /** Sets the wall clock. Setting it back does not change the monotonic time, as with a real clock. */
  set(date: Date | string): void {
    const targetMs = new Date(date).getTime();
    this.elapsedMs += Math.max(0, targetMs - this.currentMs);
    this.currentMs = targetMs;
  }
}
