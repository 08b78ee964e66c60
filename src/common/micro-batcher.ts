/**
 * Group commit: collects items of concurrent callers and hands them to one function.
 *
 * A batch starts at once when nothing is running; while one runs, further items gather, so the batch size follows the
 * load by itself and an idle service adds no waiting. At most `concurrency` batches run at a time.
 * Every caller gets the result at its own position, or the batch's error.
 */
export interface MicroBatcherOptions<Item> {
  /** A batch stops growing once its items weigh this much; the first item always fits. */
  maxWeight: number;
  /** 1 for each item unless given. */
  weightOf?: (item: Item) => number;
  concurrency: number;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export class MicroBatcher<Item, Result> {
  private readonly waiting: Waiting<Item, Result>[] = [];
  private running = 0;
  private scheduled = false;

  /** @param process gets one item or more and answers as many results, in the same order. */
  constructor(
    private readonly process: (items: Item[]) => Promise<Result[]>,
    private readonly options: MicroBatcherOptions<Item>,
  ) {}

  /** Items that wait for a batch. */
  get depth(): number {
    return this.waiting.length;
  }

  /** Joins the next batch and answers this item's own result. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.schedule();
    });
  }

  /** One turn of the event loop gathers what arrived together. */
  private schedule(): void {
    if (this.scheduled || this.running >= this.options.concurrency) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      void this.runNext();
    });
  }

  private nextSize(): number {
    const { maxWeight, weightOf = () => 1 } = this.options;
    let weight = 0;
    const end = this.waiting.findIndex(({ item }, index) => {
      weight += weightOf(item);
      return weight > maxWeight && index > 0;
    });
    return end === -1 ? this.waiting.length : end;
  }

  private async runNext(): Promise<void> {
    if (this.waiting.length === 0) return;
    const batch = this.waiting.splice(0, this.nextSize());
    this.running += 1;
    if (this.waiting.length > 0) this.schedule();
    try {
      const results = await this.process(batch.map((entry) => entry.item));
      batch.forEach((entry, index) => entry.resolve(results[index] as Result));
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    } finally {
      this.running -= 1;
      if (this.waiting.length > 0) this.schedule();
    }
  }
}
