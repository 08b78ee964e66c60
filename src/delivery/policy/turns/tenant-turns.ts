import { atMost } from '../../../common/bounded-cache';
import { LRUCache } from 'lru-cache';

/** Organizations that one claim serves. */
const MOST_SERVED = 32;
/** Organizations without work whose virtual time is kept, so that a short absence gains nothing. */
const MOST_REMEMBERED = 10_000;

const NONE: ReadonlySet<string> = new Set();

/** Whose turn it is now. */
export type Shares = ReadonlyMap<string, number>;

/**
 * Divides claims among organizations by weight: weighted fair queuing.
 *
 *   unknown ──found to have work──► in turn ──took less than its share──► resting ──found again──► in turn
 *
 * Each has a virtual time that advances by 1/weight with every delivery; the lowest time is served first. An
 * organization that begins or returns starts at the present time: unused shares are not saved up.
 */
export class TenantTurns {
  private readonly inTurn = new Map<string, number>();
  private readonly resting = new LRUCache<string, number>(atMost(MOST_REMEMBERED));
  private present = 0;

  /** @param weights of organizations whose weight is not 1 */
  constructor(private weights: ReadonlyMap<string, number> = new Map()) {}

  setWeights(weights: ReadonlyMap<string, number>): void {
    this.weights = weights;
  }

  /** Marks organizations as having work. */
  found(organizationIds: Iterable<string>): void {
    for (const id of organizationIds) {
      if (!this.inTurn.has(id)) this.inTurn.set(id, Math.max(this.present, this.resting.get(id) ?? 0));
      this.resting.delete(id);
    }
  }

  /**
   * How many of the next `limit` deliveries each organization may have; empty when none has work.
   * @param except those that have enough in hand
   * @param only the others have nothing; all have when absent
   */
  next(limit: number, except: ReadonlySet<string> = NONE, only?: ReadonlySet<string>): Shares {
    const next = this.furthestBehind(except, only);
    const shares = new Map<string, number>();
    for (let given = 0; given < limit; given += 1) {
      const [first] = next;
      if (!first) return shares;
      shares.set(first.id, (shares.get(first.id) ?? 0) + 1);
      first.finish += this.costOf(first.id);
      sink(next);
    }
    return shares;
  }

  /** Counts what a claim has taken. */
  took(shares: Shares, taken: ReadonlyMap<string, number>): void {
    const served = [...shares.keys()].filter((id) => taken.has(id)).map((id) => this.inTurn.get(id) ?? this.present);
    if (served.length > 0) this.present = Math.max(this.present, Math.min(...served));
    for (const [id, share] of shares) this.advance(id, share, taken.get(id) ?? 0);
  }

  private advance(id: string, share: number, taken: number): void {
    const at = (this.inTurn.get(id) ?? this.present) + taken * this.costOf(id);
    if (taken >= share) {
      this.inTurn.set(id, at);
      return;
    }
    this.inTurn.delete(id);
    if (at > this.present) this.resting.set(id, at);
  }

  /** In order. */
  private furthestBehind(
    except: ReadonlySet<string>,
    only?: ReadonlySet<string>,
  ): { readonly id: string; finish: number }[] {
    const least: { id: string; finish: number }[] = [];
    for (const [id, at] of this.inTurn) {
      if (except.has(id) || only?.has(id) === false) continue;
      const finish = at + this.costOf(id);
      const last = least.at(-1);
      if (least.length === MOST_SERVED && last && finish >= last.finish) continue;
      if (least.length === MOST_SERVED) least.pop();
      const place = least.findIndex((other) => other.finish > finish);
      least.splice(place === -1 ? least.length : place, 0, { id, finish });
    }
    return least;
  }

  private costOf(id: string): number {
    return 1 / (this.weights.get(id) ?? 1);
  }
}

/** Moves the first to its place among the others, which are in order. */
function sink(ordered: { finish: number }[]): void {
  for (let at = 0; at + 1 < ordered.length; at += 1) {
    const [one, other] = [ordered[at], ordered[at + 1]];
    if (!one || !other || one.finish < other.finish) return;
    ordered[at] = other;
    ordered[at + 1] = one;
  }
}
