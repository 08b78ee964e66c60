import pLimit, { type LimitFunction } from 'p-limit';
import { TooManyAtATimeError } from '../errors/app-error';

/** Of one holder. */
export interface HolderLimits {
  readonly atATime: number;
  /** More would only fill memory. */
  readonly waiting: number;
}

/**
 * Runs so much at a time, and of one holder one, or few: however much a holder asks for, another one waits for few of each.
 */
export class FairLimit {
  private readonly all: LimitFunction;
  private readonly byHolder = new Map<string, LimitFunction>();

  constructor(
    concurrency: number,
    private readonly limits: HolderLimits = { atATime: 1, waiting: 20 },
  ) {
    this.all = pLimit(concurrency);
  }

  /** @throws TooManyAtATimeError when too much of this holder waits already */
  async run<T>(holder: string, work: () => Promise<T>): Promise<T> {
    const own = this.byHolder.get(holder) ?? pLimit(this.limits.atATime);
    if (own.pendingCount >= this.limits.waiting) throw new TooManyAtATimeError();
    this.byHolder.set(holder, own);
    try {
      return await own(() => this.all(work));
    } finally {
      if (own.activeCount + own.pendingCount === 0) this.byHolder.delete(holder);
    }
  }
}
