import { piecesInTurns } from '../async/fair-turns';

/** For a message whose client does not declare its size. */
const FIRST_BYTES = 16 * 1024;
/**
 * Until so much has come of a message whose client does. Memory that nothing is written to is not resident (RSS of 100 times 25 MiB: 3 MiB,
 * Node.js 20 and 24), but counts for the garbage collector: 10 ms of the process for each message that is declared and not sent.
 */
const PROVEN_BYTES = 256 * 1024;
/** The client may count line ends or dots in another way. */
const MARGIN_BYTES = 1024;
/** Copied in one turn of the event loop: memory that is written to for the first time costs more than the copy, 50 ms for 16 MiB. */
const COPIED_BYTES = 1024 * 1024;

/** A message in one buffer: of the declared size once it is more than little, else doubled whenever it is full. */
class MessageCollector {
  private readonly expected: number;
  private bytes: Buffer;
  private length: number;

  /** @param holder in whose turns @param expected bytes; 0 when unknown @param room bytes that stay free before it */
  constructor(
    private readonly holder: string,
    expected: number,
    private readonly room = 0,
  ) {
    this.expected = expected > 0 ? expected + MARGIN_BYTES : FIRST_BYTES;
    this.bytes = Buffer.allocUnsafeSlow(room + Math.min(this.expected, PROVEN_BYTES));
    this.length = room;
  }

  async add(chunk: Buffer): Promise<void> {
    if (this.length + chunk.length > this.bytes.length) await this.grow(this.length + chunk.length);
    this.length += chunk.copy(this.bytes, this.length);
  }

  /** The message so far. */
  take(): Buffer {
    return this.bytes.subarray(this.room, this.length);
  }

  private async grow(needed: number): Promise<void> {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.room + this.expected, 2 * this.bytes.length));
    for await (const { start, end } of piecesInTurns(this.length, COPIED_BYTES, this.holder)) {
      this.bytes.copy(larger, start, start, end);
    }
    this.bytes = larger;
  }
}

/** Bytes as they come over SMTP, dots and line ends as they were meant, and how many there have been. */
export interface MessageStream extends AsyncIterable<unknown> {
  readonly byteLength: number;
}

/** How a message is received. */
export interface Reception {
  /** The memory for bodies; of which `holder` has a share. */
  readonly memory: { take(holder: string, bytes: number): boolean; give(holder: string, bytes: number): void };
  readonly holder: string;
  /** The largest message that is taken, how much is read of one that is not, and how much is kept. */
  readonly limits: { readonly maxBytes: number; readonly maxDataBytes: number; readonly keptBytes: number };
  /** 0 when unknown. */
  readonly expectedBytes: number;
  /** Bytes that stay free before the message, in the memory that it is in. */
  readonly room?: number;
  /** Sees what is kept, piece by piece. */
  readonly onChunk?: (chunk: Buffer) => void;
  readonly refusals: Readonly<Record<'tooLarge' | 'farTooLarge' | 'noRoom', () => Error>>;
}

/**
 * A message of which the memory is accounted for. One that is not taken holds nothing while its client sends on: thirty of 25 MiB that came
 * together were all refused, as each kept its part of the memory to its end.
 */
class HeldMessage {
  private collector: MessageCollector | undefined;
  private held = 0;
  private isTooLarge = false;

  constructor(private readonly reception: Reception) {
    const { holder, expectedBytes, room } = reception;
    this.collector = new MessageCollector(holder, expectedBytes, room);
  }

  /** @param length of the message so far, this chunk included @throws the refusal of what is far too large */
  async add(chunk: Buffer, length: number): Promise<void> {
    const { memory, holder, limits, onChunk, refusals } = this.reception;
    if (length > limits.maxDataBytes) throw refusals.farTooLarge();
    this.isTooLarge = length > limits.maxBytes;
    if (this.isTooLarge) this.drop();
    const kept = chunk.subarray(0, limits.keptBytes - this.held);
    if (!this.collector || kept.length === 0) return;
    if (!memory.take(holder, kept.length)) return this.drop();
    this.held += kept.length;
    onChunk?.(kept);
    await this.collector.add(kept);
  }

  /** What is kept of it. @throws one of the other refusals */
  take(): Buffer {
    if (this.isTooLarge) throw this.reception.refusals.tooLarge();
    if (!this.collector) throw this.reception.refusals.noRoom();
    return this.collector.take();
  }

  drop(): void {
    this.reception.memory.give(this.reception.holder, this.held);
    this.held = 0;
    this.collector = undefined;
  }
}

/**
 * Reads a message to its end and passes it, or the first part that is kept, to `use`; its bytes count against the memory for
 * bodies until that has ended. Reads on beyond a limit, up to a second limit, since a client reads the reply only after its data.
 * @throws one of the refusals, the stream's error when the client has closed, or the errors of `use`
 */
export async function receiveMessage<Result>(
  stream: MessageStream,
  reception: Reception,
  use: (message: Buffer) => Promise<Result>,
): Promise<Result> {
  const message = new HeldMessage(reception);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) await message.add(chunk, stream.byteLength);
    return await use(message.take());
  } finally {
    message.drop();
  }
}
