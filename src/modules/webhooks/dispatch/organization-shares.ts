import type { OrganizationShare } from '../queue/webhook-queue';

/** Of one process, under way or waiting for their turn: enough for hundreds of endpoints that hang. */
export const MAX_HELD = 1_000;

/**
 * How many messages each organization may hold: at most as many as it leaves free. That is half of all when it is alone, a third
 * beside another one that needs as much, a quarter beside two; there is always a slot for a further endpoint.
 */
export class OrganizationShares {
  private readonly holders = new Map<string, number>();
  private heldCount = 0;

  /** Of all organizations. */
  get held(): number {
    return this.heldCount;
  }

  /** What may be claimed for the organizations that hold something. */
  list(): OrganizationShare[] {
    return [...this.holders].map(([organizationId, held]) => ({ organizationId, free: this.freeBeside(held) }));
  }

  /** What may be claimed for any other. */
  get fresh(): number {
    return this.freeBeside(0);
  }

  hold(organizationId: string): void {
    this.holders.set(organizationId, (this.holders.get(organizationId) ?? 0) + 1);
    this.heldCount += 1;
  }

  release(organizationId: string): void {
    const held = (this.holders.get(organizationId) ?? 0) - 1;
    if (held > 0) this.holders.set(organizationId, held);
    else this.holders.delete(organizationId);
    this.heldCount -= 1;
  }

  /** After it, an organization would hold no more than is free. */
  private freeBeside(held: number): number {
    return Math.max(0, Math.floor((MAX_HELD - this.heldCount - held) / 2));
  }
}
