const one = (): number => 1;

/**
 * The option of an `LRUCache` for so many entries. With the cache's own `max` it fills arrays of that length when it is made: for
 * all caches of a process a quarter of the time in which its services come up, and 10 MB. These grow with what is kept.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: one };
}
