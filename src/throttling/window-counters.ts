import type { Hits, SharedHits } from './throttle-hits.repository';

/** Rows are kept a little beyond their window: the clocks of two machines differ. */
const GRACE_MS = 60_000;

/** Hits of one limit in the current window, as known to this process. */
export interface WindowCounter {
  readonly key: string;
  windowStartMs: number;
  windowEndMs: number;
  /** The total of all processes at its last flush, its own hits included. */
  shared: number;
  /** Own hits that are being written. */
  flushing: number;
  /** Own hits that are not written yet. */
  unflushed: number;
}

/** The hits that a flush has taken from a counter, to match the result with the counter. */
export interface Flush {
  readonly counter: WindowCounter;
  readonly windowStartMs: number;
  readonly row: Hits;
}

/** All known hits of a counter, of this process and of others. */
export function hitsOf(counter: WindowCounter): number {
  return counter.shared + counter.flushing + counter.unflushed;
}

/** A counter without hits, for the window that contains `nowMs`. */
export function newCounter(key: string, windowMs: number, nowMs: number): WindowCounter {
  const windowStartMs = Math.floor(nowMs / windowMs) * windowMs;
  return { key, windowStartMs, windowEndMs: windowStartMs + windowMs, shared: 0, flushing: 0, unflushed: 0 };
}

/**
 * The counters of one process.
 *
 * A counter starts at zero, takes hits (`unflushed`), passes them to a flush (`flushing`) and gets the shared total back
 * (`shared`). A failed flush makes them `unflushed` again, so a process that has lost the store keeps counting by itself.
 * When its window has passed it starts again; results for an older window are dropped.
 */
export class WindowCounters {
  private readonly counters = new Map<string, WindowCounter>();
  private readonly dirty = new Set<WindowCounter>();

  /** @param maxCounters bounds the memory; beyond it the oldest counter is dropped. */
  constructor(private readonly maxCounters: number) {}

  get size(): number {
    return this.counters.size;
  }

  get hasUnflushed(): boolean {
    return this.dirty.size > 0;
  }

  /** The counter of the window that contains `nowMs`. */
  current(key: string, windowMs: number, nowMs: number): WindowCounter {
    const counter = this.counters.get(key) ?? this.add(newCounter(key, windowMs, nowMs));
    if (nowMs < counter.windowEndMs && nowMs >= counter.windowStartMs) return counter;
    return Object.assign(counter, newCounter(key, windowMs, nowMs));
  }

  hit(counter: WindowCounter): void {
    counter.unflushed += 1;
    this.dirty.add(counter);
  }

  /** Takes up to `max` counters with unflushed hits. */
  beginFlush(max: number): Flush[] {
    const flushes: Flush[] = [];
    for (const counter of this.dirty) {
      if (flushes.length === max) break;
      this.dirty.delete(counter);
      // A window that has ended since has nothing to write.
      if (counter.unflushed === 0) continue;
      flushes.push({ counter, windowStartMs: counter.windowStartMs, row: rowOf(counter) });
      counter.flushing = counter.unflushed;
      counter.unflushed = 0;
    }
    return flushes;
  }

  endFlush(flushes: readonly Flush[], totals: readonly SharedHits[]): void {
    const hitsByKey = new Map(totals.map(({ key, hits }) => [key, hits]));
    for (const { counter, windowStartMs, row } of flushes) {
      if (counter.windowStartMs !== windowStartMs) continue;
      counter.shared = hitsByKey.get(counter.key) ?? counter.shared + row.hits;
      counter.flushing = 0;
    }
  }

  failFlush(flushes: readonly Flush[]): void {
    for (const { counter, windowStartMs } of flushes) {
      if (counter.windowStartMs !== windowStartMs) continue;
      counter.unflushed += counter.flushing;
      counter.flushing = 0;
      this.dirty.add(counter);
    }
  }

  /** Drops counters whose window has passed. */
  sweep(nowMs: number): void {
    for (const counter of this.counters.values()) {
      if (nowMs >= counter.windowEndMs) this.forget(counter);
    }
  }

  private add(counter: WindowCounter): WindowCounter {
    if (this.counters.size >= this.maxCounters) {
      const [oldest] = this.counters.values();
      if (oldest) this.forget(oldest);
    }
    this.counters.set(counter.key, counter);
    return counter;
  }

  private forget(counter: WindowCounter): void {
    this.counters.delete(counter.key);
    this.dirty.delete(counter);
  }
}

function rowOf({ key, windowStartMs, windowEndMs, unflushed }: WindowCounter): Hits {
  return {
    key,
    windowStart: new Date(windowStartMs),
    hits: unflushed,
    expiresAt: new Date(windowEndMs + GRACE_MS),
  };
}
