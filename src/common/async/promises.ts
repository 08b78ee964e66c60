import type { Clock } from '../clock';

/** The result of `work`, or an error that says "timeout" after `timeoutMs`; `work` itself goes on. */
export function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`timeout after ${timeoutMs} ms`)), timeoutMs);
    const settled = (): void => clearTimeout(timer);
    work.then(resolve, reject).finally(settled);
  });
}

/** Goes through a list that is read page by page, each after the last entry of the one before, until one is empty. */
export async function forEachPage<T>(
  read: (after: T | undefined) => Promise<readonly T[]>,
  use: (page: readonly T[]) => Promise<void>,
): Promise<void> {
  let page = await read(undefined);
  while (page.length > 0) {
    await use(page);
    page = await read(page.at(-1));
  }
}

/** Those who ask for the same key while its answer is on the way share that answer; nothing is kept afterwards. */
export class SingleFlight<T> {
  private readonly underWay = new Map<string, Promise<T>>();

  run(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.underWay.get(key);
    if (known) return known;
    const answer = ask().finally(() => this.underWay.delete(key));
    this.underWay.set(key, answer);
    return answer;
  }
}

/**
 * Puts a question at most once per `ttlMs`, however often it is asked: those who ask meanwhile share the one answer. A
 * failure is an answer too, so that a broken store is not asked in a storm.
 */
export class BriefCache<T> {
  private answer: Promise<T> | undefined;
  private staleAtMs = 0;

  constructor(
    private readonly question: () => Promise<T>,
    private readonly ttlMs: number,
    private readonly clock: Clock,
  ) {}

  get(): Promise<T> {
    if (this.answer === undefined || this.clock.monotonicMs() >= this.staleAtMs) this.answer = this.ask();
    return this.answer;
  }

  private async ask(): Promise<T> {
    this.staleAtMs = Infinity;
    try {
      return await this.question();
    } finally {
      this.staleAtMs = this.clock.monotonicMs() + this.ttlMs;
    }
  }
}
