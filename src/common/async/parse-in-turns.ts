import type { Socket } from 'node:net';
import { EVENT_LOOP } from './fair-turns';

/** Bytes parsed first; a quick piece is followed by one of twice the size. */
const FIRST_BYTES = 2 * 1024;
/** Time for parsing before other work has a turn. */
const TURN_MS = 1;

interface ParserTurns {
  readonly nowMs?: () => number;
  readonly next?: (holder: string) => Promise<void>;
  /** While what was parsed waits to be worked on nothing more is parsed; undefined when it does not. */
  readonly whenServed?: () => Promise<void> | undefined;
}

/**
 * Node's HTTP parser goes through all that was read from a connection in one turn of the event loop, and what it finds is worked on
 * at once: 64 KiB may be ten thousand chunks of one byte, or two thousand requests, and take it 100 ms. With this it gets what
 * takes a millisecond, and the rest in the holder's turns; meanwhile nothing more is read. To be called when Node has just taken
 * the connection, by a listener of `connection` (server) or `socket` (client).
 *
 * @param holder whom to count as one: a client, an organization
 */
export function parseInTurns(socket: Socket, holder: () => string, turns: ParserTurns = {}): void {
  const { nowMs = () => performance.now(), next = (name) => EVENT_LOOP.next(name), whenServed } = turns;
  const [parse, another] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  // Node of another release may read otherwise.
  if (!parse || another) return;
  const turn = () => whenServed?.() ?? next(holder());
  const parser = new TurnwiseParser(socket, parse.bind(socket), {
    nowMs,
    turn,
    isHeld: () => whenServed?.() !== undefined,
  });
  // Only while it has a listener does Node hand out what it reads.
  socket.on('data', (bytes: Buffer) => parser.take(bytes));
  socket.off('data', parse);
}

interface Steps {
  readonly nowMs: () => number;
  readonly turn: () => Promise<void>;
  /** Whether what was parsed waits to be worked on. */
  readonly isHeld: () => boolean;
}

/** parsing ──time is over──► waiting for a turn ──► parsing; what is not parsed yet goes back to the connection. */
class TurnwiseParser {
  private isWaiting = false;

  constructor(
    private readonly socket: Socket & { readonly parser?: unknown },
    private readonly parse: (bytes: Buffer) => void,
    private readonly steps: Steps,
  ) {}

  take(bytes: Buffer): void {
    const rest = this.isWaiting || this.steps.isHeld() ? bytes : this.parseSome(bytes);
    if (rest.length === 0 || this.isOver) return;
    // Node has paused it: who reads the body or the responses does not keep up. Then Node resumes it, too.
    const isHeldBack = this.socket.isPaused();
    this.socket.pause();
    this.socket.unshift(rest);
    if (!isHeldBack && !this.isWaiting) void this.wait();
  }

  /** The parser is another connection's when this one is at its end. */
  private get isOver(): boolean {
    return this.socket.destroyed || !this.socket.parser;
  }

  private parseSome(bytes: Buffer): Buffer {
    const { nowMs, isHeld } = this.steps;
    const untilMs = nowMs() + TURN_MS;
    let start = 0;
    for (let size = FIRST_BYTES; start < bytes.length && !this.isOver; size *= 2) {
      this.parse(start === 0 && bytes.length <= size ? bytes : bytes.subarray(start, start + size));
      start += size;
      if (this.socket.isPaused() || isHeld() || nowMs() >= untilMs) break;
    }
    return bytes.subarray(start);
  }

  private async wait(): Promise<void> {
    this.isWaiting = true;
    await this.steps.turn();
    this.isWaiting = false;
    this.socket.resume();
  }
}
