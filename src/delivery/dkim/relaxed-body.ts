import { createHash, hash } from 'node:crypto';
import { EVENT_LOOP, OUTGOING } from '../../common/async/fair-turns';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** Bodies up to this size are hashed at once (about 0.2 ms), larger ones in slices, each in a turn of its own. */
const SMALL_BYTES = 64 * 1_024;
const SLICE_BYTES = 4 * SMALL_BYTES;

/**
 * The `bh=` of a body: SHA-256 over its relaxed canonical form (RFC 6376 section 3.4.4), in base64; never with a length
 * limit (`l=`).
 * @param message bytes with CRLF only
 * @param start where the body begins, after the empty line
 */
export async function relaxedBodyHash(message: Buffer, start: number): Promise<string> {
  const body = new RelaxedBody(message, start);
  if (message.length - start <= SMALL_BYTES) return hash('sha256', body.next(SMALL_BYTES), 'base64');
  const sha256 = createHash('sha256');
  while (!body.isDone) {
    await EVENT_LOOP.next(OUTGOING);
    sha256.update(body.next(SLICE_BYTES));
  }
  return sha256.digest('base64');
}

/**
 * Canonicalizes a body in one pass, piece by piece (RFC 6376 section 3.4.4). White space and line ends are held back
 * until something follows them, so no byte is read twice.
 */
class RelaxedBody {
  private at: number;
  private out = Buffer.alloc(0);
  private length = 0;
  private heldSpace = false;
  private heldLineEnds = 0;
  private hasContent = false;

  constructor(
    private readonly bytes: Buffer,
    start: number,
  ) {
    this.at = start;
  }

  get isDone(): boolean {
    return this.at >= this.bytes.length;
  }

  /** The canonical form of about the next `limit` bytes, valid until the next call. */
  next(limit: number): Buffer {
    const end = Math.min(this.bytes.length, this.at + limit);
    this.out = Buffer.allocUnsafe(end - this.at + 2 * this.heldLineEnds + 4);
    this.length = 0;
    while (this.at < end) this.step(end);
    if (this.isDone && this.hasContent) this.putLineEnd();
    return this.out.subarray(0, this.length);
  }

  private step(end: number): void {
    const byte = this.bytes[this.at];
    if (byte === SPACE || byte === TAB) {
      this.heldSpace = true;
      this.at += 1;
    } else if (byte === CR && this.bytes[this.at + 1] === LF) {
      this.heldSpace = false;
      this.heldLineEnds += 1;
      this.at += 2;
    } else {
      this.release();
      this.copyWord(end);
    }
  }

  private release(): void {
    for (; this.heldLineEnds > 0; this.heldLineEnds -= 1) this.putLineEnd();
    if (this.heldSpace) this.out[this.length++] = SPACE;
    this.heldSpace = false;
    this.hasContent = true;
  }

  /** The hot loop: copies one byte of any kind and all printable ones that follow. */
  private copyWord(end: number): void {
    const { bytes, out } = this;
    let { at, length } = this;
    do out[length++] = bytes[at++] as number;
    while (at < end && (bytes[at] as number) > SPACE);
    this.at = at;
    this.length = length;
  }

  private putLineEnd(): void {
    this.out[this.length++] = CR;
    this.out[this.length++] = LF;
  }
}
