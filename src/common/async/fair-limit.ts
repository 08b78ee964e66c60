import pLimit, { type LimitFunction } from 'p-limit';
import { UnavailableError } from '../errors/app-error';

/** What waits of one holder; more would only fill memory. */
const MAX_WAITING = 20;

/**
 * Runs so much at a time, and of one holder one: however much a holder asks for, another one waits for one of each.
 */
export class FairLimit {
  private readonly all: LimitFunction;
  private readonly byHolder = new Map<string, LimitFunction>();

  constructor(concurrency: number) {
    this.all = pLimit(concurrency);
  }

  /** @throws UnavailableError when too much of this holder waits already */
  async run<T>(holder: string, work: () => Promise<T>): Promise<T> {
    const own = this.byHolder.get(holder) ?? pLimit(1);
    if (own.pendingCount >= MAX_WAITING) throw new UnavailableError('Too many of these requests at a time');
    this.byHolder.set(holder, own);
    try {
      return await own(() => this.all(work));
    } finally {
      if (own.activeCount + own.pendingCount === 0) this.byHolder.delete(holder);
    }
  }
}
