import { LRUCache } from 'lru-cache';
import { atMost } from '../bounded-cache';
import { HolderQueue } from '../async/holder-turns';
import { MINUTE } from '../clock';

/** Look-ups at a time: each holds a socket, at a silent server for seconds. */
const AT_A_TIME = 512;
/** Of one holder: at first, and after as many replies of the usual length. */
const OF_ONE = { first: 4, most: 32 };
/** Waiting look-ups of one holder; more would only fill memory. */
const MOST_WAITING = 2_000;
/** The most records that genuine names have. */
const USUAL_RECORDS = 256;
/** After a longer reply: look-ups of the holder at a time, and for how long. */
const AFTER_LONG_REPLY = { atATime: 2, forMs: 10 * MINUTE };
const MAX_REMEMBERED = 10_000;

/** `slow`: of holders with long replies lately, in a thread that others do not wait for. */
export type Lane = 'usual' | 'slow';

/** What a look-up came to, and how many records its reply held. */
export interface WeighedReply<Found> {
  readonly found: Found;
  readonly records: number;
}

interface Conduct {
  readonly usualReplies: number;
  readonly isSlowUntilMs: number;
}

const UNKNOWN: Conduct = { usualReplies: 0, isSlowUntilMs: -Infinity };

/**
 * Who may look up how much at a time. Holders whose look-ups wait take turns, and one has no more under way than it leaves free.
 *
 * What a reply costs is known when it is there: of 64 KiB of mail exchangers 60 to 150 ms of the thread. So a holder begins with few, and has
 * one more under way with each reply of the usual length; after a long one it shares another thread with the other holders of long replies.
 *
 *   begun (4) ──usual replies──► trusted (32) ──a long reply──► slow (2, a thread for these) ──ten minutes without──► begun
 */
export class LookUpShares {
  private readonly active = new Map<string, number>();
  private readonly waiting = new HolderQueue<() => void>();
  private readonly conduct = new LRUCache<string, Conduct>(atMost(MAX_REMEMBERED));
  private total = 0;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Look-ups that have begun, of all holders. */
  get underWay(): number {
    return this.total;
  }

  /** @throws LookUpNotBegunError */
  async run<Found>(
    holder: string,
    lookUp: (lane: Lane) => Promise<WeighedReply<Found>>,
    signal?: AbortSignal,
  ): Promise<Found> {
    // The signal of an abort that has happened fires no event.
    if (signal?.aborted) throw new LookUpNotBegunError('ECANCELLED');
    if (this.mayBegin(holder) && this.waiting.sizeOf(holder) === 0) this.begin(holder);
    else await this.turn(holder, signal);
    try {
      const { found, records } = await lookUp(this.laneOf(holder));
      this.weigh(holder, records);
      return found;
    } finally {
      this.end(holder);
    }
  }

  private turn(holder: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.waiting.sizeOf(holder) >= MOST_WAITING) return Promise.reject(new LookUpNotBegunError('EBUSY'));
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiting.remove(holder, begin);
        reject(new LookUpNotBegunError('ECANCELLED'));
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        this.begin(holder);
        resolve();
      };
      this.waiting.add(holder, begin);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  private serve(): void {
    const next = (): (() => void) | undefined => this.waiting.take((holder) => this.mayBegin(holder));
    for (let begin = next(); begin; begin = next()) begin();
  }

  private mayBegin(holder: string): boolean {
    const own = this.active.get(holder) ?? 0;
    return own < this.placesOf(holder) && own < AT_A_TIME - this.total;
  }

  private placesOf(holder: string): number {
    if (this.laneOf(holder) === 'slow') return AFTER_LONG_REPLY.atATime;
    return Math.min(OF_ONE.first + this.conductOf(holder).usualReplies, OF_ONE.most);
  }

  private laneOf(holder: string): Lane {
    return this.conductOf(holder).isSlowUntilMs > this.nowMs() ? 'slow' : 'usual';
  }

  private conductOf(holder: string): Conduct {
    return this.conduct.get(holder) ?? UNKNOWN;
  }

  private weigh(holder: string, records: number): void {
    const isLong = records > USUAL_RECORDS;
    const { usualReplies, isSlowUntilMs } = this.conductOf(holder);
    if (isLong) this.conduct.set(holder, { usualReplies: 0, isSlowUntilMs: this.nowMs() + AFTER_LONG_REPLY.forMs });
    else if (usualReplies < OF_ONE.most) this.conduct.set(holder, { usualReplies: usualReplies + 1, isSlowUntilMs });
  }

  private begin(holder: string): void {
    this.total += 1;
    this.active.set(holder, (this.active.get(holder) ?? 0) + 1);
  }

  private end(holder: string): void {
    this.total -= 1;
    const own = (this.active.get(holder) ?? 1) - 1;
    if (own > 0) this.active.set(holder, own);
    else this.active.delete(holder);
    this.serve();
  }
}

/** `EBUSY`: too much of the holder waits already. `ECANCELLED`: it was called off while it waited. */
class LookUpNotBegunError extends Error {
  constructor(readonly code: 'EBUSY' | 'ECANCELLED') {
    super(`The look-up did not begin: ${code}`);
  }
}
