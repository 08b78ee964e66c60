/** Tenants that do not wait, whose place is remembered at most. */
const MOST_REMEMBERED = 1_000;

/**
 * Whose turn it is among waiting tenants, one task at a time: start-time fair queuing.
 *
 * Each has a virtual time that advances by one with every task served. The lowest is next; among equals, the first to arrive. A
 * tenant that begins to wait starts at the present time, so it precedes all that were served since; returning at once gains
 * nothing.
 */
export class FairOrder {
  private readonly times = new Map<string, number>();
  private readonly absent = new Map<string, number>();
  private present = 0;

  /** Tenants that wait. */
  get size(): number {
    return this.times.size;
  }

  /** This one waits; again is the same. */
  join(tenant: string): void {
    if (this.times.has(tenant)) return;
    this.times.set(tenant, Math.max(this.present, this.absent.get(tenant) ?? 0));
    this.absent.delete(tenant);
  }

  /** It does not wait any more. */
  leave(tenant: string): void {
    const time = this.times.get(tenant);
    if (time === undefined) return;
    this.times.delete(tenant);
    if (time > this.present) this.absent.set(tenant, time);
    if (this.absent.size > MOST_REMEMBERED) this.forget();
  }

  /** It was served one thing. */
  served(tenant: string): void {
    const time = this.times.get(tenant);
    if (time === undefined) return;
    this.present = Math.max(this.present, time);
    this.times.set(tenant, time + 1);
  }

  /** The one whose turn it is. @param except those that are not to be served now */
  next(except?: ReadonlySet<string>): string | undefined {
    let first: string | undefined;
    let least = Infinity;
    for (const [tenant, time] of this.times) {
      if (time >= least || except?.has(tenant)) continue;
      first = tenant;
      least = time;
    }
    return first;
  }

  /** Forgets times that have passed, and beyond the maximum the oldest. */
  private forget(): void {
    for (const [tenant, time] of this.absent) if (time <= this.present) this.absent.delete(tenant);
    for (const tenant of this.absent.keys()) {
      if (this.absent.size <= MOST_REMEMBERED) return;
      this.absent.delete(tenant);
    }
  }
}
