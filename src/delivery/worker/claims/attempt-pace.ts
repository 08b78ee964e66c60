import { type Clock, SECOND } from '../../../common/clock';

/** Attempts that begin in a second. */
export class AttemptPace {
  private sinceMs = -Infinity;
  private count = 0;
  private previous = 0;

  constructor(private readonly clock: Clock) {}

  begun(): void {
    this.turn();
    this.count += 1;
  }

  get perSecond(): number {
    this.turn();
    return Math.max(this.count, this.previous);
  }

  private turn(): void {
    const nowMs = this.clock.monotonicMs();
    const elapsedMs = nowMs - this.sinceMs;
    if (elapsedMs < SECOND) return;
    this.previous = elapsedMs < 2 * SECOND ? this.count : 0;
    this.count = 0;
    this.sinceMs = nowMs;
  }
}
