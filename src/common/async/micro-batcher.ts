import { BatchSize } from './batch-size';
import { HolderQueue } from './holder-turns';

export interface MicroBatcherOptions<Item> {
  /** A batch stops growing once its items weigh this much; the first item always fits. */
  readonly maxWeight: number;
  /** 1 for each item unless given. */
  readonly weightOf?: (item: Item) => number;
  readonly concurrency: number;
  readonly patience?: Patience;
  /**
   * Of a batch that failed: whether it took too long, so that the next ones are smaller (`BatchSize`).
   */
  readonly tookTooLong?: (error: unknown) => boolean;
  /** Whose turn an item takes; without it, items come as they were added. */
  readonly holderOf?: (item: Item) => string;
}

/** What a batch waits for while another one runs: that it weighs so much (and has its share), or so many milliseconds. */
export interface Patience {
  readonly weight: number;
  readonly ms: number;
  /** Where no caller waits for the result: also when nothing is running. */
  readonly always?: boolean;
}

/** Part of `maxWeight` that a batch may always weigh. */
const LEAST_PART = 1 / 8;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly weight: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Below this weight a batch of its own costs more than it saves; the time is longer than a commit usually takes, shorter than
 * a caller notices.
 */
const PATIENCE: Patience = { weight: 16, ms: 5 };

/**
 * Group commit: collects items of concurrent callers and passes them to one function in batches, so that they share a transaction.
 *
 * A batch starts at once when nothing is running; while one runs, further items gather, so the batch size follows the
 * load by itself and an idle service adds no waiting. Up to `concurrency` batches run at a time, each with its share of
 * all that is under way, so that one is being made while another one is being written: a single large batch would have
 * event loop and database wait for each other. A further batch starts when its share has gathered or `patience` has ended:
 * many small ones cost more than few large ones, and a slow one holds up no caller for long.
 * Every caller gets the result at its own position, or the batch's error. Where items have holders, these come in turn: however
 * many items of one wait, those of another one are in the next batches.
 */
export class MicroBatcher<Item, Result> {
  private readonly waiting = new HolderQueue<Waiting<Item, Result>>();
  private waitingWeight = 0;
  private running = 0;
  private runningWeight = 0;
  private scheduled = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly patience: Patience;
  private readonly size: BatchSize;

  /** @param process gets one item or more and returns as many results, in the same order. */
  constructor(
    private readonly process: (items: Item[]) => Promise<Result[]>,
    private readonly options: MicroBatcherOptions<Item>,
  ) {
    this.patience = options.patience ?? PATIENCE;
    const { maxWeight, tookTooLong = () => false } = options;
    this.size = new BatchSize({ most: maxWeight, least: maxWeight * LEAST_PART, tookTooLong });
  }

  /** Items that wait for a batch. */
  get depth(): number {
    return this.waiting.size;
  }

  depthOf(holder: string): number {
    return this.waiting.sizeOf(holder);
  }

  /** Joins the next batch and returns this item's own result. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const weight = this.options.weightOf?.(item) ?? 1;
      this.waiting.add(this.options.holderOf?.(item) ?? '', { item, weight, resolve, reject });
      this.waitingWeight += weight;
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.size === 0 || this.running >= this.options.concurrency) return;
    const { ms, always = false } = this.patience;
    if ((this.running === 0 && !always) || this.waitingWeight >= this.share()) this.startSoon();
    else this.timer ??= setTimeout(() => this.startSoon(), ms);
  }

  /** One turn of the event loop gathers what arrived together. */
  private startSoon(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      void this.runNext();
    });
  }

  private share(): number {
    const { concurrency } = this.options;
    return Math.min(
      this.size.current,
      Math.max(this.patience.weight, (this.waitingWeight + this.runningWeight) / concurrency),
    );
  }

  private takeNext(): Waiting<Item, Result>[] {
    const share = this.share();
    const batch: Waiting<Item, Result>[] = [];
    let weight = 0;
    const fits = (entry: Waiting<Item, Result>): boolean => {
      weight += entry.weight;
      return weight <= share || batch.length === 0;
    };
    // What does not fit ends the batch, and is the first of the next one.
    const next = (): Waiting<Item, Result> | undefined => this.waiting.take((_holder, entry) => fits(entry));
    for (let entry = next(); entry; entry = next()) batch.push(entry);
    this.waitingWeight = this.waiting.size === 0 ? 0 : this.waitingWeight - weightOf(batch);
    return batch;
  }

  private async runNext(): Promise<void> {
    const batch = this.takeNext();
    const weight = weightOf(batch);
    this.running += 1;
    this.runningWeight += weight;
    this.schedule();
    try {
      const results = await this.size.run(() => this.process(batch.map((entry) => entry.item)));
      batch.forEach((entry, index) => entry.resolve(results[index] as Result));
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    } finally {
      this.running -= 1;
      this.runningWeight -= weight;
      this.schedule();
    }
  }
}

function weightOf(entries: readonly { readonly weight: number }[]): number {
  return entries.reduce((sum, entry) => sum + entry.weight, 0);
}
