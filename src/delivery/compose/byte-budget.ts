import { Tally } from '../../common/async/holder-turns';

/** The rest is for connections, batches of rows and garbage not collected yet. */
const PART_OF_MEMORY = 0.75;
/** Of the budget, for small messages that are composed ahead of their connection. */
const AHEAD_PART = 0.2;

/** Bytes taken from the budget; given back once. */
export interface Reservation {
  /** Corrects an estimate, now that the size is known. */
  resize(bytes: number): void;
  free(): void;
}

type Kind = 'ahead' | 'large';

/**
 * The bytes of all messages that are loaded or composed in this worker: html, text and attachments, and what composing makes of
 * them. Two accounts, so that large mail never blocks small mail:
 *
 * - `ahead`: small messages, composed before their connection is free. A fifth.
 * - `large`: loaded and composed once a connection is theirs, which is taken in the same moment. A tenant that holds some
 *   may take more as long as it then holds no more than is left free, so one alone gets a half, two a third each, and a
 *   newcomer always gets some. A message larger than the budget is taken when it is the only one. What others free is kept
 *   for one tenant at a time that holds nothing and whose message does not fit: others' smaller ones would always be ahead of it.
 *
 * Nothing waits here: `may…` returns at once, and a refused caller holds nothing.
 */
export class ByteBudget {
  readonly limit: number;
  private readonly used: Record<Kind, number> = { ahead: 0, large: 0 };
  private readonly byTenant = new Tally();
  private highest = 0;
  /** The tenant that freed bytes are kept for, and how many it needs. */
  private next: { readonly organizationId: string; readonly bytes: number } | undefined;

  /** @param memoryBytes what the worker may use above its memory at the start */
  constructor(memoryBytes: number) {
    this.limit = Math.floor(memoryBytes * PART_OF_MEMORY);
  }

  get inUse(): number {
    return this.used.ahead + this.used.large;
  }

  /** The highest use so far. */
  get peak(): number {
    return this.highest;
  }

  /** What small messages may still take. */
  get aheadRoom(): number {
    return Math.max(0, this.limit * AHEAD_PART - this.used.ahead);
  }

  takeAhead(bytes: number): Reservation {
    return this.take('ahead', undefined, bytes);
  }

  mayTakeLarge(organizationId: string, bytes: number): boolean {
    const kept = this.next && this.next.organizationId !== organizationId ? this.next.bytes : 0;
    if (this.used.large === 0 && kept === 0) return true;
    const free = this.limit * (1 - AHEAD_PART) - this.used.large - kept - bytes;
    const held = this.byTenant.of(organizationId);
    return free >= 0 && (held === 0 || held + bytes <= free);
  }

  takeLarge(organizationId: string, bytes: number): Reservation {
    this.cancelNext(organizationId);
    return this.take('large', organizationId, bytes);
  }

  /** Keeps freed bytes for a large message; false when they are kept for another tenant's, or this one holds some. */
  reserveNext(organizationId: string, bytes: number): boolean {
    if (this.next !== undefined || this.byTenant.of(organizationId) > 0) return false;
    this.next = { organizationId, bytes };
    return true;
  }

  cancelNext(organizationId: string): void {
    if (this.next?.organizationId === organizationId) this.next = undefined;
  }

  private take(kind: Kind, organizationId: string | undefined, bytes: number): Reservation {
    let held = 0;
    const resize = (to: number): void => {
      this.used[kind] += to - held;
      this.highest = Math.max(this.highest, this.inUse);
      if (organizationId !== undefined) this.byTenant.add(organizationId, to - held);
      held = to;
    };
    resize(bytes);
    return { resize, free: () => resize(0) };
  }
}
