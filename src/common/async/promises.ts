import type { Clock } from '../clock';

/** The result of `work`, or a "timeout" error after `timeoutMs`; `work` itself continues. */
export function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`timeout after ${timeoutMs} ms`)), timeoutMs);
    const settled = (): void => clearTimeout(timer);
    work.then(resolve, reject).finally(settled);
  });
}

/** True when `work` ended within `limitMs`, however it ended; `work` itself continues. */
export async function endsWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  return within(
    work.then(
      () => true,
      () => true,
    ),
    limitMs,
  ).catch(() => false);
}

/** The result of `work`, or the signal's reason as soon as it is aborted; `work` itself continues. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
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

/** Concurrent callers with the same key share one run and its result; nothing is kept afterwards. */
export class SingleFlight<T> {
  private readonly underWay = new Map<string, Promise<T>>();

  run(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.underWay.get(key);
    if (known) return known;
    const run = work().finally(() => this.underWay.delete(key));
    this.underWay.set(key, run);
    return run;
  }
}

/**
 * Calls `load` at most once per `ttlMs`: callers in between share its result. A failure is kept like a result, so that a
 * broken store is not called by all at once.
 */
export class BriefCache<T> {
  private result: Promise<T> | undefined;
  private staleAtMs = 0;

  constructor(
    private readonly load: () => Promise<T>,
    private readonly ttlMs: number,
    private readonly clock: Clock,
  ) {}

  get(): Promise<T> {
    if (this.result === undefined || this.clock.monotonicMs() >= this.staleAtMs) this.result = this.reload();
    return this.result;
  }

  private async reload(): Promise<T> {
    this.staleAtMs = Infinity;
    try {
      return await this.load();
    } finally {
      this.staleAtMs = this.clock.monotonicMs() + this.ttlMs;
    }
  }
}
