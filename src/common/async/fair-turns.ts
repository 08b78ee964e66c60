import { HolderTurns, OwnerQueue } from './holder-turns';

/**
 * Turns of the event loop for work that grows with what clients send. Of all such work one piece is done in a turn, so that it
 * never adds up, and holders come in rotation: however many large bodies one of them has in progress, another one's continues with
 * every second piece.
 *
 * What waits here holds what it held before; the budget of bodies bounds it.
 */
export class FairTurns {
  private readonly waiting = new OwnerQueue<() => void>();
  private readonly first = new OwnerQueue<() => void>();
  private isScheduled = false;

  /**
   * @param most pieces in a turn
   * @param turnMs for how long further pieces are begun in a turn
   */
  constructor(
    private readonly most = 1,
    private readonly turnMs = 0,
  ) {}

  /** Resolves in a turn in which no other caller's piece is done; those that are first before all others. A piece takes a ms or two. */
  next(holder: string, isFirst = false): Promise<void> {
    return new Promise((resolve) => {
      (isFirst ? this.first : this.waiting).add(holder, resolve);
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.first.size + this.waiting.size === 0) return;
    this.isScheduled = true;
    let beganMs: number | undefined;
    // Those that are set now run in one turn, and what a piece does at once is done before the next.
    for (let left = this.most; left > 0; left -= 1) {
      setImmediate(() => {
        const nowMs = this.most > 1 ? performance.now() : 0;
        beganMs ??= nowMs;
        if (nowMs === beganMs || nowMs - beganMs < this.turnMs) (this.first.take() ?? this.waiting.take())?.();
        if (left > 1) return;
        this.isScheduled = false;
        this.schedule();
      });
    }
  }
}

/** The event loop is the process's one, and so is this. */
export const EVENT_LOOP = new FairTurns();

interface StartLimits {
  /** How many of those that have waited begin in a turn of the event loop. */
  readonly most: number;
  /** For how long any begin: that much of a turn goes to them. */
  readonly turnMs: number;
}

/**
 * Pieces of work that begin at once while they take little of a turn of the event loop, by default half a millisecond; what comes beyond
 * that waits for a turn, holders in rotation. Forty requests of one client that came together took 24 ms of each turn, and another's request
 * waited that long for every reply of the database.
 */
export class FairStarts {
  private readonly turns: FairTurns;
  private readonly turnMs: number;
  private waiting = 0;
  private beganMs: number | undefined;

  constructor({ most, turnMs }: StartLimits = { most: 8, turnMs: 0.5 }) {
    this.turns = new FairTurns(most, turnMs);
    this.turnMs = turnMs;
  }

  /** Undefined when the piece may begin at once. @param isFirst before all that are not: for what must not be lost while it waits */
  next(holder: string, isFirst = false): Promise<void> | undefined {
    const mustWait = this.waiting > 0 && !isFirst;
    if (mustWait || performance.now() - (this.beganMs ?? Infinity) >= this.turnMs) return this.turn(holder, isFirst);
    if (this.beganMs === undefined) {
      this.beganMs = performance.now();
      setImmediate(() => (this.beganMs = undefined));
    }
    return undefined;
  }

  private async turn(holder: string, isFirst: boolean): Promise<void> {
    this.waiting += 1;
    await this.turns.next(holder, isFirst);
    this.waiting -= 1;
  }
}

/** How long a piece of work takes that is made of many small ones. */
const PIECE_MS = 1;

/** Small pieces of work of one holder, of which as many are done in a turn as take a millisecond. */
export class WorkTurns {
  private endsMs = 0;

  constructor(
    private readonly holder: string,
    private readonly loop: FairTurns = EVENT_LOOP,
    private readonly pieceMs = PIECE_MS,
  ) {}

  /** To be awaited before each. */
  async next(): Promise<void> {
    if (performance.now() < this.endsMs) return;
    await this.loop.next(this.holder);
    this.endsMs = performance.now() + this.pieceMs;
  }

  /** Maps a list, each element as such a piece. */
  async map<T, R>(list: readonly T[], work: (element: T, index: number) => R | Promise<R>): Promise<R[]> {
    const results: R[] = [];
    for (const [index, element] of list.entries()) {
      await this.next();
      results.push(await work(element, index));
    }
    return results;
  }
}

/** Who holds the pieces of mail on its way out: its senders have been put in turn before (`ComposingTurns`). */
export const OUTGOING = 'outgoing';

/** Ranges of `size`, one in each of the holder's turns; nothing waits when there is only one. */
export async function* piecesInTurns(
  length: number,
  size: number,
  holder: string,
): AsyncGenerator<{ readonly start: number; readonly end: number }> {
  for (let start = 0; start < length; start += size) {
    if (length > size) await EVENT_LOOP.next(holder);
    yield { start, end: Math.min(start + size, length) };
  }
}

/** Bytes scanned in one turn: a fraction of a millisecond. */
const SLICE_BYTES = 256 * 1024;

/** The same as slices, of which no byte is copied. */
export async function* slicesInTurns(bytes: Buffer, holder: string): AsyncGenerator<Buffer> {
  for await (const { start, end } of piecesInTurns(bytes.length, SLICE_BYTES, holder)) yield bytes.subarray(start, end);
}

/** The end of a piece of a text that starts at `start`: surrogate pairs are not split. */
export function endOfPiece(text: string, start: number, size: number): number {
  const end = Math.min(start + size, text.length);
  return end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}

/** Of one holder. */
interface HolderLimits {
  readonly atATime: number;
  /** More would only fill memory. */
  readonly waiting: number;
}

/** Limits concurrent work, in all and per holder: however much one holder submits, others wait for little of it. */
export class FairLimit {
  private readonly turns: HolderTurns;

  constructor(concurrency: number, limits: HolderLimits = { atATime: 1, waiting: 20 }) {
    const { atATime, waiting } = limits;
    this.turns = new HolderTurns((own, total) => own < atATime && total < concurrency, waiting);
  }

  /**
   * @param signal while it waits, an abort takes it out of the queue (`clientGone` of common/tenant.ts)
   * @throws TooManyAtATimeError when too much of this holder waits already; ClientGoneError after an abort
   */
  run<T>(holder: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.turns.run(holder, work, signal);
  }
}
