import { slicesInTurns } from '../async/fair-turns';
import { BodyParts } from './body-parts';

const CR = 0x0d;
const LF = 0x0a;

/**
 * Turns every bare CR and bare LF into CRLF; the same Buffer when there is none.
 *
 * This must happen before signing: a bare CR or LF that the wire rewrites breaks the body hash, and one that it does not
 * rewrite is a way to smuggle a second message (RFC 5321 section 2.3.8).
 */
export function toCrlf(bytes: Buffer): Buffer {
  const bare = countBareLineEnds(bytes);
  if (bare === 0) return bytes;
  const out = Buffer.allocUnsafe(bytes.length + bare);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte !== CR && byte !== LF) {
      out[length++] = byte;
      continue;
    }
    if (byte === CR && bytes[at + 1] === LF) at += 1;
    out[length++] = CR;
    out[length++] = LF;
  }
  return out;
}

/** The same for a stream, whatever its chunks are. */
export async function* crlfChunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const joined = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    // Whether a CR at the end is bare shows in the next chunk.
    const end = joined.at(-1) === CR ? joined.length - 1 : joined.length;
    held = joined.subarray(end);
    yield toCrlf(joined.subarray(0, end));
  }
  yield toCrlf(held);
}

/** What the line ends of bytes of any number are, found in the holder's turns of the event loop. */
export async function lineEndsOf(bytes: Buffer, holder: string): Promise<LineEnds> {
  const check = new LineEndCheck();
  for await (const slice of slicesInTurns(bytes, holder)) check.add(slice);
  return check.result;
}

/** What `toCrlf` makes of bytes of any number, in the holder's turns of the event loop. */
export async function toCrlfInTurns(bytes: Buffer, holder: string): Promise<Buffer> {
  if ((await lineEndsOf(bytes, holder)) === 'crlf') return bytes;
  const parts = new BodyParts();
  for await (const chunk of crlfChunks(slicesInTurns(bytes, holder))) parts.add(chunk);
  return parts.join(holder);
}

/**
 * Turns every bare LF into CRLF and leaves bare CRs; the same Buffer when there is none.
 * @param before the byte in front of the first one, when these are a part of something longer
 */
export function lfToCrlf(bytes: Buffer, before?: number): Buffer {
  let bare = 0;
  for (let at = 0; at < bytes.length; at += 1) if (isBareLf(bytes, at, before)) bare += 1;
  if (bare === 0) return bytes;
  const out = Buffer.allocUnsafe(bytes.length + bare);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    if (isBareLf(bytes, at, before)) out[length++] = CR;
    out[length++] = bytes[at] as number;
  }
  return out;
}

function isBareLf(bytes: Buffer, at: number, before: number | undefined): boolean {
  return bytes[at] === LF && (at === 0 ? before : bytes[at - 1]) !== CR;
}

function countBareLineEnds(bytes: Buffer): number {
  let bare = 0;
  let before: number | undefined;
  // Byte by byte: a search from one to the next took seconds for a text of nothing but line ends.
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if ((before === CR) !== (byte === LF)) bare += 1;
    before = byte;
  }
  return before === CR ? bare + 1 : bare;
}

/**
 * What the line ends of a message are. `crlf` also without any; `lf`: all of them are bare LF; `mixed`: some of them are, or
 * a CR stands alone. Servers differ on where a line of a mixed message ends, which is a way to smuggle a second message
 * (RFC 5321 section 2.3.8).
 */
export type LineEnds = 'crlf' | 'lf' | 'mixed';

/** Scans a message piece by piece; a byte takes about a nanosecond. */
export class LineEndCheck {
  private pairs = 0;
  private bareFeeds = 0;
  private bareReturns = 0;
  private endedInReturn = false;

  add(piece: Uint8Array): void {
    let isAfterReturn = this.endedInReturn;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === LF) {
        if (isAfterReturn) this.pairs += 1;
        else this.bareFeeds += 1;
        isAfterReturn = false;
        continue;
      }
      if (isAfterReturn) this.bareReturns += 1;
      isAfterReturn = byte === CR;
    }
    this.endedInReturn = isAfterReturn;
  }

  /** Once all pieces have been added. */
  get result(): LineEnds {
    if (this.bareReturns > 0 || this.endedInReturn) return 'mixed';
    if (this.bareFeeds === 0) return 'crlf';
    return this.pairs === 0 ? 'lf' : 'mixed';
  }
}
