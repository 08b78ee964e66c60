/** Counts by name; a name that counts nothing takes no memory. */
export class Tally {
  private readonly counts = new Map<string, number>();

  /** Names that count something. */
  get size(): number {
    return this.counts.size;
  }

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  add(name: string, by = 1): void {
    const count = this.of(name) + by;
    if (count === 0) this.counts.delete(name);
    else this.counts.set(name, count);
  }

  entries(): IterableIterator<[string, number]> {
    return this.counts.entries();
  }
}
