import { UnavailableError } from '../common/errors/app-error';

/** What waits of one organization; more would only fill memory. */
const MAX_WAITING = 500;

/**
 * How many requests are under way at a time. An organization has at most as many as are left to the others: half of all when it is
 * alone, a third beside another one that needs as much. What waits is begun in turn.
 */
export class TenantTurns {
  private readonly running = new Map<string, number>();
  private readonly waiting = new Map<string, (() => void)[]>();
  private total = 0;

  /**
   * @param always how many of each organization are under way at a time whatever others have: for requests that may wait for more
   * than the database
   */
  constructor(
    private readonly max: number,
    private readonly always = 0,
  ) {}

  /** Undefined when it may begin at once. @throws UnavailableError when too much of this organization waits */
  begin(organizationId: string): Promise<void> | undefined {
    const own = this.waiting.get(organizationId) ?? [];
    if (own.length === 0 && this.mayBegin(organizationId)) {
      this.change(organizationId, 1);
      return undefined;
    }
    if (own.length >= MAX_WAITING) throw new UnavailableError('Too many requests of this organization at a time');
    this.waiting.set(organizationId, own);
    return new Promise((resolve) => own.push(resolve));
  }

  end(organizationId: string): void {
    this.change(organizationId, -1);
    while (this.beginNext());
  }

  private beginNext(): boolean {
    for (const [organizationId, own] of this.waiting) {
      if (!this.mayBegin(organizationId)) continue;
      this.change(organizationId, 1);
      const resolve = own.shift();
      this.waiting.delete(organizationId);
      if (own.length > 0) this.waiting.set(organizationId, own);
      resolve?.();
      return true;
    }
    return false;
  }

  private mayBegin(organizationId: string): boolean {
    return (this.running.get(organizationId) ?? 0) < Math.max(this.always, this.max - this.total);
  }

  private change(organizationId: string, by: 1 | -1): void {
    this.total += by;
    const own = (this.running.get(organizationId) ?? 0) + by;
    if (own > 0) this.running.set(organizationId, own);
    else this.running.delete(organizationId);
  }
}
