import { SECOND, SystemClock } from '../../common/clock';

const clock = new SystemClock();

/**
 * One time limit that moves often, for the price of few timers: setting it later than the running timer only notes the
 * new time; the timer checks again when it fires. A timer per phase would cost more than the rest of a transaction.
 *
 * Real time on purpose: it guards sockets, which know no other. The timer does not keep the process alive.
 */
export class Deadline {
  private timer: NodeJS.Timeout | undefined;
  private timerDueMs = Infinity;
  private dueMs = Infinity;
  private setAtMs = 0;
  private attemptEndsMs = Infinity;
  private onExpired: (() => void) | undefined;

  /** Begins a period that caps every limit set within it, unless one has begun already. */
  beginAttempt(seconds: number): void {
    if (this.attemptEndsMs === Infinity) this.attemptEndsMs = clock.monotonicMs() + seconds * SECOND;
  }

  endAttempt(): void {
    this.attemptEndsMs = Infinity;
  }

  /** Replaces the limit: `onExpired` is called once, unless set again or cleared before. */
  set(seconds: number, onExpired: () => void): void {
    const nowMs = clock.monotonicMs();
    this.setAtMs = nowMs;
    this.dueMs = Math.min(nowMs + seconds * SECOND, this.attemptEndsMs);
    this.onExpired = onExpired;
    if (this.dueMs < this.timerDueMs) this.arm(nowMs);
  }

  /** How long ago the present limit was set; 0 without one. */
  get elapsedMs(): number {
    return this.dueMs === Infinity ? 0 : clock.monotonicMs() - this.setAtMs;
  }

  /** Lifts the limit; a running timer finds nothing to do. */
  clear(): void {
    this.dueMs = Infinity;
  }

  /** Lifts the limit and frees the timer. */
  dispose(): void {
    this.clear();
    clearTimeout(this.timer);
    this.timer = undefined;
    this.timerDueMs = Infinity;
  }

  private arm(nowMs: number): void {
    clearTimeout(this.timer);
    this.timerDueMs = this.dueMs;
    this.timer = setTimeout(this.check, Math.max(0, Math.ceil(this.dueMs - nowMs))).unref();
  }

  private readonly check = (): void => {
    this.timer = undefined;
    this.timerDueMs = Infinity;
    const nowMs = clock.monotonicMs();
    if (this.dueMs === Infinity) return;
    if (this.dueMs > nowMs) return this.arm(nowMs);
    this.dueMs = Infinity;
    this.onExpired?.();
  };
}
