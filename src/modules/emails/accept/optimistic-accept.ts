const SHORTEST = 64;
const LONGEST = 4_096;

/**
 * Decides whether a batch is written optimistically, as if none of its recipients were suppressed, or looked up first. A
 * failed attempt costs the whole batch a second time, so for a while after it every batch is looked up: 64 batches, twice as
 * many after each further failure, half as many after each success.
 */
export class OptimisticAccept {
  private left = 0;
  private span = SHORTEST;

  /** To be called once per batch. */
  shouldTry(): boolean {
    if (this.left === 0) return true;
    this.left -= 1;
    return false;
  }

  succeeded(): void {
    this.span = Math.max(SHORTEST, this.span / 2);
  }

  failed(): void {
    this.left = this.span;
    this.span = Math.min(LONGEST, this.span * 2);
  }
}
