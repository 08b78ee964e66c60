const SHORTEST = 64;
const LONGEST = 4_096;

/**
 * Whether batches are looked up first, or written on the guess that nobody in them is suppressed. A wrong guess costs the
 * whole batch a second time, so for a while after it every batch is looked up: 64 batches, twice as many after each further
 * wrong guess, half as many after each right one.
 */
export class Caution {
  private left = 0;
  private span = SHORTEST;

  /** Asked once per batch. */
  mayGuess(): boolean {
    if (this.left === 0) return true;
    this.left -= 1;
    return false;
  }

  guessedRight(): void {
    this.span = Math.max(SHORTEST, this.span / 2);
  }

  guessedWrong(): void {
    this.left = this.span;
    this.span = Math.min(LONGEST, this.span * 2);
  }
}
