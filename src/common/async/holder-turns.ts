import { ClientGoneError, TooManyAtATimeError } from '../errors/app-error';
import { ownedNetworkOf } from '../network';

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

  /** The next item of each holder, in the order of their turns. */
  *firsts(): Generator<Item> {
    for (const [first] of this.byHolder.values()) if (first !== undefined) yield first;
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

/**
 * What waits, by client network: owners of networks (`ownedNetworkOf`) take turns, and within one its networks do. Who has a /48 of IPv6
 * would otherwise have 65,536 turns beside one of another. Holders of other kinds, such as organizations, own themselves.
 */
export class OwnerQueue<Item extends object> {
  /** The next owner first. */
  private readonly byOwner = new Map<string, HolderQueue<Item>>();
  private count = 0;

  /** Items of all owners. */
  get size(): number {
    return this.count;
  }

  /** Each item is an object or function of its own. */
  add(holder: string, item: Item): void {
    const owner = ownedNetworkOf(holder);
    const own = this.byOwner.get(owner) ?? new HolderQueue<Item>();
    if (own.size === 0) this.byOwner.set(owner, own);
    own.add(holder, item);
    this.count += 1;
  }

  take(): Item | undefined {
    for (const [owner, own] of this.byOwner) {
      const item = own.take();
      this.byOwner.delete(owner);
      if (own.size > 0) this.byOwner.set(owner, own);
      this.count -= 1;
      return item;
    }
    return undefined;
  }
}

/** Counts by name, as of a holder; a name that counts nothing takes no memory. */
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

/** Whether a holder with `own` places taken may take another one, while all holders have `total`. */
export type MayBegin = (own: number, total: number, holder: string) => boolean;

/**
 * At most as many places as are left to the others: half of all for a holder that is alone, a third beside another one that needs as many.
 *
 * @param always how many places each holder may always have, whatever others use
 */
export function leavingOthers(places: number, always = 0): MayBegin {
  return (own, total) => own < Math.max(always, places - total);
}

/**
 * Places that holders take and return, each its share of them; further work waits without holding anything and begins in turn, holders in
 * rotation.
 */
export class HolderTurns {
  private readonly running = new Tally();
  private readonly waiting = new HolderQueue<() => void>();
  private total = 0;

  /** @param mostWaiting of one holder; more would only fill memory */
  constructor(
    private readonly mayBegin: MayBegin,
    private readonly mostWaiting: number,
  ) {}

  /** Work of a holder that waits for its place. */
  waitingOf(holder: string): number {
    return this.waiting.sizeOf(holder);
  }

  /**
   * Takes a place, at once or in turn; each is to be returned by `end`.
   *
   * @param signal while it waits, an abort takes it out of the queue: its client has gone. A function is called only if it waits
   * @returns undefined when it has its place at once; otherwise it rejects with ClientGoneError after an abort
   * @throws TooManyAtATimeError when too much of the holder waits; ClientGoneError when the signal is aborted already
   */
  begin(holder: string, signal?: AbortSignal | (() => AbortSignal)): Promise<void> | undefined {
    // The signal of an abort that has happened fires no event.
    if (typeof signal === 'object' && signal.aborted) throw new ClientGoneError();
    if (this.waitingOf(holder) === 0 && this.isFreeFor(holder)) {
      this.enter(holder);
      return undefined;
    }
    if (this.waitingOf(holder) >= this.mostWaiting) throw new TooManyAtATimeError();
    const gone = typeof signal === 'function' ? signal() : signal;
    if (gone?.aborted) throw new ClientGoneError();
    return this.turn(holder, gone);
  }

  /** Takes a place beyond the holder's share: for work that must not wait because of what it holds already. */
  enter(holder: string): void {
    this.change(holder, 1);
  }

  /** Returns a place. */
  end(holder: string): void {
    this.change(holder, -1);
    this.waiting.toEnd(holder);
    const next = (): (() => void) | undefined => this.waiting.take((waiting) => this.isFreeFor(waiting));
    for (let begin = next(); begin; begin = next()) begin();
  }

  /** Runs `work` in its place. @throws as `begin` */
  async run<T>(holder: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.begin(holder, signal);
    try {
      return await work();
    } finally {
      this.end(holder);
    }
  }

  private turn(holder: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiting.remove(holder, begin);
        reject(new ClientGoneError());
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        this.enter(holder);
        resolve();
      };
      this.waiting.add(holder, begin);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  private isFreeFor(holder: string): boolean {
    return this.mayBegin(this.running.of(holder), this.total, holder);
  }

  private change(holder: string, by: 1 | -1): void {
    this.total += by;
    this.running.add(holder, by);
  }
}
