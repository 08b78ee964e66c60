/**
 * What waits, by holder. Holders take turns: the one whose item is taken goes to the end, so that however many items one of them
 * has here, the next one of another holder waits for one item of each. A holder's own items come in the order of arrival.
 *
 * Each item is an object or function of its own: adding the same one twice keeps it once.
 */
export class HolderQueue<Item extends object> {
  /** The next holder first. */
  private readonly byHolder = new Map<string, Set<Item>>();
  private count = 0;

  /** Items of all holders. */
  get size(): number {
    return this.count;
  }

  sizeOf(holder: string): number {
    return this.byHolder.get(holder)?.size ?? 0;
  }

  add(holder: string, item: Item): void {
    const own = this.byHolder.get(holder);
    if (own?.has(item)) return;
    if (own) own.add(item);
    else this.byHolder.set(holder, new Set([item]));
    this.count += 1;
  }

  /** The next item. @param mayTake of the holder's first item; holders for which it is false keep their place */
  take(mayTake: (holder: string, first: Item) => boolean = () => true): Item | undefined {
    for (const [holder, own] of this.byHolder) {
      const [first] = own;
      if (first === undefined || !mayTake(holder, first)) continue;
      this.byHolder.delete(holder);
      own.delete(first);
      if (own.size > 0) this.byHolder.set(holder, own);
      this.count -= 1;
      return first;
    }
    return undefined;
  }

  /** The holder's turn is after those of all others who wait now: it has just had one. */
  toEnd(holder: string): void {
    const own = this.byHolder.get(holder);
    if (own && this.byHolder.delete(holder)) this.byHolder.set(holder, own);
  }

  /** Whether it was there. */
  remove(holder: string, item: Item): boolean {
    const own = this.byHolder.get(holder);
    if (!own?.delete(item)) return false;
    if (own.size === 0) this.byHolder.delete(holder);
    this.count -= 1;
    return true;
  }

  /** Empties the queue. */
  takeAll(): Item[] {
    const items = [...this.byHolder.values()].flatMap((own) => [...own]);
    this.byHolder.clear();
    this.count = 0;
    return items;
  }
}
