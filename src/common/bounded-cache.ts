import { LRUCache } from 'lru-cache';

const one = (): number => 1;

/**
 * The option of an `LRUCache` for so many entries. With the cache's own `max` it fills arrays of that length when it is made: for
 * all caches of a process a quarter of the time in which its services come up, and 10 MB. These grow with what is kept.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: one };
}

/**
 * The same where others decide how large an entry is: one that is larger than its part of the bytes counts for several.
 * @param bytes of all entries
 */
export function atMostBytes<Value>(
  entries: number,
  bytes: number,
  bytesOf: (value: Value) => number,
): { readonly maxSize: number; readonly sizeCalculation: (value: Value) => number } {
  const part = bytes / entries;
  return { maxSize: entries, sizeCalculation: (value) => Math.max(1, Math.ceil(bytesOf(value) / part)) };
}

/** Organizations whose last change is known. */
const CHANGED = 20_000;

/**
 * The changes that this process has made to organizations, so that it reads again at once what it cached before one. Other
 * processes go on until their caches end.
 */
export class Revisions {
  private latest = 0;
  private readonly known = new LRUCache<string, number>(atMost(CHANGED));

  /** The latest change of all organizations. */
  get now(): number {
    return this.latest;
  }

  /** The latest change of one organization; 0 without any. */
  of(organizationId: string): number {
    return this.known.get(organizationId) ?? 0;
  }

  add(organizationId: string): void {
    this.latest += 1;
    this.known.set(organizationId, this.latest);
  }
}
