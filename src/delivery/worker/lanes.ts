import { type Clock } from '../../common/clock';
import {
  type DestinationLimiterOptions,
  DestinationLimiter,
  type DestinationState,
} from '../policy/destination-limiter';
import type { ReleaseSignal } from '../policy/release-signal';

export type LaneOptions = Pick<DestinationLimiterOptions, 'lanes'> &
  Partial<DestinationLimiterOptions> & {
    /** One next hop takes everything, so that it is what is shaped, not the recipient's domain. */
    readonly sharedHop: boolean;
  };

const SHARED_HOP = 'next-hop';

/** Lets conversations to a destination begin one by one as its limit allows; the others wait here in order. */
export class Lanes {
  private readonly limiter: DestinationLimiter;
  private readonly waiting = new Map<string, ((granted: boolean) => void)[]>();

  constructor(
    clock: Clock,
    private readonly options: LaneOptions,
  ) {
    this.limiter = new DestinationLimiter(clock, options);
  }

  /** Resolves true when a conversation may begin, false when the destination is held back and asking again later is better. */
  acquire(destination: string): Promise<boolean> {
    const key = this.keyOf(destination);
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
    if (!this.options.sharedHop) return { all: false, destinations: this.limiter.blockedDestinations() };
    return { all: this.limiter.pausedUntil(SHARED_HOP) !== undefined, destinations: [] };
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
