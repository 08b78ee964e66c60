import { LRUCache } from 'lru-cache';
import { atMost } from '../bounded-cache';
import { HolderTurns } from '../async/holder-turns';
import { MINUTE } from '../clock';
import { ClientGoneError, TooManyAtATimeError } from '../errors/app-error';

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
  private readonly turns = new HolderTurns(
    (own, total, holder) => own < this.placesOf(holder) && own < AT_A_TIME - total,
    MOST_WAITING,
  );
  private readonly conduct = new LRUCache<string, Conduct>(atMost(MAX_REMEMBERED));

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** @throws LookUpNotBegunError */
  async run<Found>(
    holder: string,
    lookUp: (lane: Lane) => Promise<WeighedReply<Found>>,
    signal?: AbortSignal,
  ): Promise<Found> {
    const work = async (): Promise<Found> => {
      // Its place comes in a turn of its own, and an abort before that fires no event for the look-up.
      if (signal?.aborted) throw new LookUpNotBegunError('ECANCELLED');
      const { found, records } = await lookUp(this.laneOf(holder));
      this.weigh(holder, records);
      return found;
    };
    try {
      return await this.turns.run(holder, work, signal);
    } catch (error) {
      if (error instanceof TooManyAtATimeError) throw new LookUpNotBegunError('EBUSY');
      throw error instanceof ClientGoneError ? new LookUpNotBegunError('ECANCELLED') : error;
    }
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
}

/** `EBUSY`: too much of the holder waits already. `ECANCELLED`: it was called off while it waited. */
class LookUpNotBegunError extends Error {
  constructor(readonly code: 'EBUSY' | 'ECANCELLED') {
    super(`The look-up did not begin: ${code}`);
  }
}
