import { type Clock, SECOND } from '../../../common/clock';

/** An unused connection to a limited group is closed after a second; a window is longer. */
const WINDOW_MS = 1.5 * SECOND;

/** Most conversations of each group at a time within the last one or two windows: a connection outlasts its conversation. */
export class RecentPeaks {
  private now = new Map<string, number>();
  private before = new Map<string, number>();
  private sinceMs = -Infinity;

  constructor(private readonly clock: Clock) {}

  note(key: string, active: number): void {
    this.turn();
    this.now.set(key, Math.max(active, this.now.get(key) ?? 0));
  }

  of(key: string): number {
    this.turn();
    return Math.max(this.now.get(key) ?? 0, this.before.get(key) ?? 0);
  }

  private turn(): void {
    const agoMs = this.clock.monotonicMs() - this.sinceMs;
    if (agoMs < WINDOW_MS) return;
    this.before = agoMs < 2 * WINDOW_MS ? this.now : new Map<string, number>();
    this.now = new Map();
    this.sinceMs = this.clock.monotonicMs();
  }
}
