import { type Clock } from '../../common/clock';
import type { DestinationLimits } from '../queue/sql/claim-deliveries.sql';
import {
  type DestinationLimiterOptions,
  DESTINATION_LIMITER_DEFAULTS,
  DestinationLimiter,
  type DestinationState,
  type ReleaseSignal,
} from '../policy/destination-limiter';

export type DestinationSlotsOptions = Pick<DestinationLimiterOptions, 'slots'> &
  Partial<DestinationLimiterOptions> & {
    /** One next hop takes everything, so that it is what is shaped, not the recipient's domain. */
    readonly sharedHop: boolean;
  };

const SHARED_HOP = 'next-hop';
/** Claims per slot: one under way, one ready to follow it. */
const CLAIM_AHEAD = 2;

/** Lets conversations to a destination begin one by one as its limit allows; the others wait here in order. */
export class DestinationSlots {
  private readonly limiter: DestinationLimiter;
  private readonly startConcurrency: number;
  private closed = false;
  private readonly waiting = new Map<string, ((granted: boolean) => void)[]>();

  constructor(
    clock: Clock,
    private readonly options: DestinationSlotsOptions,
  ) {
    this.limiter = new DestinationLimiter(clock, options);
    this.startConcurrency = options.startConcurrency ?? DESTINATION_LIMITER_DEFAULTS.startConcurrency;
  }

  /** Resolves true when a conversation may begin, false when the destination is held back and asking again later is better. */
  acquire(destination: string): Promise<boolean> {
    const key = this.keyOf(destination);
    if (this.closed) return Promise.resolve(false);
    if (this.tryAcquire(key)) return Promise.resolve(true);
    if (this.limiter.pausedUntil(key)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const queue = this.waiting.get(key);
      if (queue) queue.push(resolve);
      else this.waiting.set(key, [resolve]);
    });
  }

  release(destination: string, signal: ReleaseSignal, cause?: string): void {
    const key = this.keyOf(destination);
    this.limiter.release(key, signal, cause);
    this.admit(key);
  }

  /** Destinations not worth claiming for right now. */
  heldBack(): { all: boolean; destinations: string[] } {
    if (this.options.sharedHop) return { all: this.limiter.pausedUntil(SHARED_HOP) !== undefined, destinations: [] };
    return { all: false, destinations: this.limiter.blockedDestinations() };
  }

  /**
   * How much a claim may take: what can begin soon (twice the limit, less what is under way or waits here), so that a slow
   * destination holds a few claims and not the whole worker.
   */
  claimLimits(): DestinationLimits | undefined {
    if (this.options.sharedHop) return undefined;
    const known = this.limiter.loads().map(({ destination, limit, active }) => {
      const waiting = this.waiting.get(destination)?.length ?? 0;
      return { destination, limit: Math.max(0, CLAIM_AHEAD * limit - active - waiting) };
    });
    return { fresh: CLAIM_AHEAD * this.startConcurrency, known };
  }

  /** Refuses all that wait, and whoever comes. */
  close(): void {
    this.closed = true;
    for (const queue of this.waiting.values()) for (const refuse of queue.splice(0)) refuse(false);
    this.waiting.clear();
  }

  describe(): DestinationState[] {
    return this.limiter.describe(Infinity);
  }

  private admit(key: string): void {
    const queue = this.waiting.get(key);
    if (!queue) return;
    while (queue.length > 0 && this.tryAcquire(key)) queue.shift()?.(true);
    if (this.limiter.pausedUntil(key)) for (const refuse of queue.splice(0)) refuse(false);
    if (queue.length === 0) this.waiting.delete(key);
  }

  private tryAcquire(key: string): boolean {
    return this.limiter.tryAcquire(key, !this.options.sharedHop);
  }

  private keyOf(destination: string): string {
    return this.options.sharedHop ? SHARED_HOP : destination;
  }
}
