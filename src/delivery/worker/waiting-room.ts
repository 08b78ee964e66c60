import { FairOrder } from '../policy/turns/fair-order';
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

/** The result of an offer; `tenant`: none of this tenant's can start; `full`: no tenant's can. */
export type Taken = boolean | 'tenant' | 'full';

/** Of one tenant, by destination; the one that was served last is at the end. */
type Lines<Item> = Map<string, Line<Item>>;

/**
 * Deliveries that are ready and hold nothing: no slot, no connection, and of bytes only those of small mail. Tenants take
 * turns, newcomers first, and so do a tenant's destinations. Within a line, small mail passes large mail that may not start.
 */
export class WaitingRoom<Item extends Waiting> {
  private readonly tenants = new Map<string, Lines<Item>>();
  private readonly order = new FairOrder();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(item: Item): void {
    const { organizationId, destination } = item.claim;
    const lines = this.tenants.get(organizationId) ?? new Map<string, Line<Item>>();
    this.tenants.set(organizationId, lines);
    this.order.join(organizationId);
    const line = lines.get(destination) ?? { small: [], large: [] };
    lines.set(destination, line);
    (item.isLarge ? line.large : line.small).push(item);
    this.count += 1;
  }

  /**
   * Offers what waits, tenants in turn and of each its destinations in turn, as long as any is taken: a destination that was
   * served goes to the end, so that none is served twice while another one waits. A line that is refused is not offered again.
   * @param take starts the attempt, or returns why it cannot
   */
  offer(take: (item: Item) => Taken): void {
    const done = new Set<string>();
    // A line that is put at the end is visited again by the same iterator.
    const walks = new Map<string, Iterator<[string, Line<Item>]>>();
    for (;;) {
      const tenant = this.order.next(done);
      const lines = tenant === undefined ? undefined : this.tenants.get(tenant);
      if (tenant === undefined || !lines) return;
      const walk = walks.get(tenant) ?? lines.entries();
      walks.set(tenant, walk);
      const taken = this.offerNext(lines, walk, take);
      if (taken === 'full') return;
      if (taken === true) this.wasServed(tenant, lines);
      else done.add(tenant);
    }
  }

  /** Takes out what the condition holds for. */
  remove(isWanted: (item: Item) => boolean): Item[] {
    const removed: Item[] = [];
    for (const [tenant, lines] of this.tenants) {
      for (const [key, line] of lines) {
        removed.push(...removeFrom(line.small, isWanted), ...removeFrom(line.large, isWanted));
        if (isEmpty(line)) lines.delete(key);
      }
      if (lines.size === 0) this.forget(tenant);
    }
    this.count -= removed.length;
    return removed;
  }

  /** Every item that waits. */
  *[Symbol.iterator](): Generator<Item> {
    for (const lines of this.tenants.values()) {
      for (const { small, large } of lines.values()) {
        yield* small;
        yield* large;
      }
    }
  }

  /** The first of the next line that is not refused. */
  private offerNext(lines: Lines<Item>, walk: Iterator<[string, Line<Item>]>, take: (item: Item) => Taken): Taken {
    for (let next = walk.next(); !next.done; next = walk.next()) {
      const [key, line] = next.value;
      const taken = this.offerLine(line, take);
      if (taken === false) continue;
      if (taken !== true) return taken;
      lines.delete(key);
      if (!isEmpty(line)) lines.set(key, line);
      return true;
    }
    return false;
  }

  private offerLine({ small, large }: Line<Item>, take: (item: Item) => Taken): Taken {
    for (const queue of [large, small]) {
      const first = queue[0];
      if (first === undefined) continue;
      const taken = take(first);
      if (taken === false) continue;
      if (taken !== true) return taken;
      queue.shift();
      this.count -= 1;
      return true;
    }
    return false;
  }

  private wasServed(tenant: string, lines: Lines<Item>): void {
    this.order.served(tenant);
    if (lines.size === 0) this.forget(tenant);
  }

  private forget(tenant: string): void {
    this.tenants.delete(tenant);
    this.order.leave(tenant);
  }
}

function removeFrom<Item>(queue: Item[], isWanted: (item: Item) => boolean): Item[] {
  const removed = queue.filter(isWanted);
  if (removed.length > 0) queue.splice(0, queue.length, ...queue.filter((item) => !isWanted(item)));
  return removed;
}

function isEmpty({ small, large }: Line<unknown>): boolean {
  return small.length + large.length === 0;
}
