/** Lets only so many pieces of work run at a time; the others wait in the order in which they came. */
export class ConcurrencyLimit {
  private readonly waiting: (() => void)[] = [];
  private running = 0;

  constructor(private readonly maximum: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running < this.maximum) this.running += 1;
    // Whoever ends hands its place on, so that nobody overtakes.
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
