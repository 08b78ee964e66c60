import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { CONNECTION_TURNS, type SharedTurns } from '../async/shared-turns';

/** A kilobyte may be 38 changes of keys (KeyUpdate, RFC 8446 section 4.6.3), which take 60 µs each, or 45 records of one byte. */
const FIRST_BYTES = 1024;
/** A full piece that took less is followed by one of twice the size. */
const QUICK_MS = 0.25;
/** What comes after a quick piece may be a flood: 18 ms of changed keys. */
const MAX_BYTES = 8 * 1024;

/**
 * What a connection receives for TLS, in pieces that are processed quickly, in turns of the event loop. By itself Node decrypts all that it can read
 * from a connection at once: eight connections of a client that changed its keys all the time held the event loop for 26 s, eighteen
 * that sent records of one byte for 0.3 s. Meanwhile nothing more is read, so it holds what one read returned, at most 64 KiB.
 *
 * Overrides `resume`, and methods that Node documents for those who implement streams: to TLS it is as if its transport were slower.
 *
 * @param stream below TLS: a stream, or a connection on which TLS is put by `asStream`
 * @param holder whom to count as one: a client, an organization
 * @returns what has been received and is held back
 */
export function tlsInputInTurns(stream: Duplex, holder: string, turns: SharedTurns = CONNECTION_TURNS): TlsInput {
  return new TlsInput(stream, holder, turns);
}

/** receiving ──no time is left, or TLS does not read──► holding ──its turn, or TLS reads on──► receiving */
export class TlsInput {
  /** In the order in which it came; null is the end. */
  private readonly held: (Buffer | null)[] = [];
  private size = FIRST_BYTES;
  private isWaiting = false;
  private afterwards: (() => void) | undefined;
  private readonly push: (bytes: Buffer | null) => boolean;

  constructor(
    private readonly stream: Duplex,
    private readonly holder: string,
    private readonly turns: SharedTurns,
  ) {
    this.push = stream.push.bind(stream);
    const read = stream._read.bind(stream);
    stream.push = (bytes: Buffer | null) => this.take(bytes);
    stream._read = (size) => {
      if (this.held.length === 0) read(size);
    };
    this.goOnWhenResumed();
  }

  /** Does it after what has come before: a reset must not hide a reply. The last of several counts. */
  afterHeld(work: () => void): void {
    if (this.held.length === 0) work();
    else this.afterwards = work;
  }

  /** A listener would be lost: the library of our SMTP servers removes all of a connection when TLS begins. */
  private goOnWhenResumed(): void {
    const { stream } = this;
    const resume = stream.resume.bind(stream);
    stream.resume = () => {
      resume();
      if (this.held.length > 0) process.nextTick(() => this.handOn());
      return stream;
    };
  }

  private take(bytes: Buffer | null): boolean {
    this.held.push(bytes);
    if (this.held.length > 1) return false;
    const mayGoOn = this.handOn();
    return mayGoOn && this.held.length === 0;
  }

  private handOn(): boolean {
    if (this.isWaiting || !this.hasMore()) return false;
    if (this.turns.isFree()) return this.handOnNow();
    this.isWaiting = true;
    this.turns.run(this.holder, () => {
      this.isWaiting = false;
      if (this.hasMore()) this.handOnNow();
    });
    return false;
  }

  private handOnNow(): boolean {
    let mayGoOn = this.handOnPiece();
    while (this.hasMore() && this.turns.isFree()) mayGoOn = this.handOnPiece();
    this.handOn();
    return mayGoOn;
  }

  private hasMore(): boolean {
    if (this.stream.destroyed) this.held.length = 0;
    return this.held.length > 0 && this.stream.readableFlowing !== false;
  }

  private handOnPiece(): boolean {
    const bytes = this.held.shift() ?? null;
    if (bytes && bytes.length > this.size) this.held.unshift(bytes.subarray(this.size));
    const startedMs = performance.now();
    const mayGoOn = this.push(bytes && bytes.subarray(0, this.size));
    const isQuick = performance.now() - startedMs < QUICK_MS;
    if (!isQuick) this.size = FIRST_BYTES;
    else if (bytes && bytes.length >= this.size) this.size = Math.min(MAX_BYTES, 2 * this.size);
    if (this.held.length === 0) this.afterwards?.();
    return mayGoOn;
  }
}

/**
 * Has TLS read from a connection as from any other stream: Node reads a connection with a handle below TLS without JavaScript.
 * @param begin puts TLS on it; returns the TLS socket, or the connection where TLS does not begin
 */
export function asStream(socket: Socket, begin: () => Socket): Socket {
  const connection = socket as Socket & { _handle?: unknown };
  const { _handle: handle } = connection;
  const addresses = { remoteAddress: { value: socket.remoteAddress }, remotePort: { value: socket.remotePort } };
  connection._handle = null;
  try {
    const top = begin();
    // TLS over a stream has no addresses, and counts a stream without a handle as not connected.
    if (top !== socket) Object.assign(Object.defineProperties(top, addresses), { connecting: false });
    return top;
  } finally {
    connection._handle = handle;
  }
}
