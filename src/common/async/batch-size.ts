/** After each batch that succeeds. */
const GROWTH = 1.25;

interface BatchSizeOptions {
  readonly most: number;
  readonly least: number;
  /** Whether the error says that it was too much at a time. */
  readonly tookTooLong: (error: unknown) => boolean;
}

/**
 * How much work is done at a time: half as much after a batch that took too long, and a quarter more after each that succeeds. A slow
 * database would never finish a batch that is tried again whole, and lose what it had done of it each time.
 */
export class BatchSize {
  private size: number;

  constructor(private readonly options: BatchSizeOptions) {
    this.size = options.most;
  }

  get current(): number {
    return Math.ceil(this.size);
  }

  /** Does one batch. @param work gets its size; its error is passed on */
  async run<T>(work: (size: number) => Promise<T>): Promise<T> {
    const { most, least, tookTooLong } = this.options;
    try {
      const result = await work(this.current);
      this.size = Math.min(most, this.size * GROWTH);
      return result;
    } catch (error) {
      if (tookTooLong(error)) this.size = Math.max(least, this.size / 2);
      throw error;
    }
  }
}
