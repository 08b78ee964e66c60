import { AsyncResource } from 'node:async_hooks';
import { OwnerQueue } from './holder-turns';

/** Milliseconds of such work in a turn of the event loop; at most twice that, as both new and waiting work may take them. */
const TURN_MS = 5;
/** Waiting pieces of one turn; each runs as a callback of its own, so that what it causes at once counts as its time. */
const PLACES = 32;

/**
 * Small pieces of work that thousands of connections may cause at the same moment, such as commands. What a turn of the event
 * loop has time for is done at once, so that an ordinary connection does not wait; the rest is done in later turns, several pieces in
 * each, holders in rotation.
 */
export class SharedTurns {
  private readonly waiting = new OwnerQueue<() => void>();
  private isTurn = false;
  private endsMs = 0;
  private places = 0;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Whether a piece may be done now: nothing waits, and there is time left in this turn. */
  isFree(): boolean {
    return this.waiting.size === 0 && this.hasTime();
  }

  /** Resolves in the holder's turn. */
  next(holder: string): Promise<void> {
    return new Promise((resolve) => this.add(holder, resolve));
  }

  /** Does it now if there is time, otherwise in the holder's turn. */
  run(holder: string, work: () => void): void {
    if (this.isFree()) work();
    else this.add(holder, work);
  }

  private add(holder: string, work: () => void): void {
    // The turn may have begun within a tenant's request, whose scope the work of others must not get.
    this.waiting.add(holder, AsyncResource.bind(work));
    this.schedule();
  }

  private hasTime(): boolean {
    const nowMs = this.nowMs();
    if (!this.isTurn) {
      this.isTurn = true;
      this.endsMs = nowMs + TURN_MS;
      setImmediate(() => (this.isTurn = false));
    }
    return nowMs < this.endsMs;
  }

  private schedule(): void {
    if (this.places > 0 || this.waiting.size === 0) return;
    this.places = PLACES;
    for (let place = 0; place < PLACES; place += 1) setImmediate(() => this.take());
  }

  private take(): void {
    this.places -= 1;
    if (this.waiting.size > 0 && this.hasTime()) this.waiting.take()?.();
    this.schedule();
  }
}

/** Of all connections of the process. */
export const CONNECTION_TURNS = new SharedTurns();
