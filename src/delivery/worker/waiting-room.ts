import type { ClaimedDelivery } from '../ports/delivery';

/** One delivery that has been claimed and whose attempt has not begun. */
export interface Waiting {
  readonly claim: ClaimedDelivery;
  /** Monotonic; when it was ready to begin. */
  readonly readyMs: number;
  /** True for one whose bytes are not in memory. */
  readonly isLarge: boolean;
}

/** What one tenant has for one destination: small mail and large mail, each in order. */
interface Line<Item> {
  readonly small: Item[];
  readonly large: Item[];
}

/**
 * Deliveries that are ready and hold nothing: no slot, no connection, and of bytes only what small mail needs. Lines take
 * turns; within a line large mail that may not begin lets small mail pass.
 */
export class WaitingRoom<Item extends Waiting> {
  private readonly lines = new Map<string, Line<Item>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(item: Item): void {
    const key = keyOf(item.claim);
    const line = this.lines.get(key) ?? { small: [], large: [] };
    this.lines.set(key, line);
    (item.isLarge ? line.large : line.small).push(item);
    this.count += 1;
  }

  /**
   * Offers the first of every line in turn, as long as any is taken: a line that was served goes to the end, so that no
   * tenant and no destination is served twice while another one waits.
   * @param take begins the attempt; false when it cannot, `full` when no other can either
   */
  offer(take: (item: Item) => boolean | 'full'): void {
    // A line that is put at the end is visited again by the same loop.
    for (const [key, line] of this.lines) {
      const taken = this.offerLine(line, take);
      if (taken === 'full') return;
      if (!taken) continue;
      this.lines.delete(key);
      if (line.small.length + line.large.length > 0) this.lines.set(key, line);
    }
  }

  /** Takes out what the condition holds for. */
  remove(isWanted: (item: Item) => boolean): Item[] {
    const removed: Item[] = [];
    for (const [key, line] of this.lines) {
      for (const queue of [line.small, line.large]) {
        const kept = queue.filter((item) => !isWanted(item));
        if (kept.length === queue.length) continue;
        removed.push(...queue.filter(isWanted));
        queue.splice(0, queue.length, ...kept);
      }
      if (line.small.length + line.large.length === 0) this.lines.delete(key);
    }
    this.count -= removed.length;
    return removed;
  }

  /** Every item that waits. */
  *[Symbol.iterator](): Generator<Item> {
    for (const { small, large } of this.lines.values()) {
      yield* small;
      yield* large;
    }
  }

  private offerLine({ small, large }: Line<Item>, take: (item: Item) => boolean | 'full'): boolean | 'full' {
    for (const queue of [large, small]) {
      const first = queue[0];
      if (first === undefined) continue;
      const taken = take(first);
      if (taken === 'full') return 'full';
      if (!taken) continue;
      queue.shift();
      this.count -= 1;
      return true;
    }
    return false;
  }
}

function keyOf({ organizationId, destination }: ClaimedDelivery): string {
  return `${organizationId} ${destination}`;
}
