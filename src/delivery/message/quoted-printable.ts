import { EVENT_LOOP, OUTGOING } from '../../common/async/fair-turns';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DOT = 0x2e;
const EQUALS = 0x3d;
const LETTER_F = 0x46;
const FROM = Buffer.from('From ', 'latin1');
const HEX = Buffer.from('0123456789ABCDEF', 'latin1');

/** RFC 2045 section 6.7 (5): 76 characters with the `=` of a soft line break. */
const LINE_ROOM = 75;

/** 1 for bytes that stand for themselves anywhere but, if spaces, at the end of a line. */
const LITERAL = new Uint8Array(256).fill(1, SPACE, 0x7f);
LITERAL[TAB] = 1;
for (const byte of [EQUALS, DOT, LETTER_F]) LITERAL[byte] = 0;

/**
 * Encodes bytes of UTF-8 text as quoted-printable (RFC 2045 section 6.7): 7-bit, lines of at most 76 characters, every
 * CRLF, CR or LF of the text a CRLF. Beyond the rules: a dot or `From ` never begins a line, because old relays stuff or
 * escape them and so break signatures, and no soft break falls into a character.
 */
export function encodeQuotedPrintable(bytes: Uint8Array): Buffer {
  const encoder = new QuotedPrintableEncoder(bytes);
  encoder.encodeUpTo(bytes.length);
  return encoder.end();
}

/** Encoded in one turn of the event loop: a millisecond or two. */
const TURN_BYTES = 256 * 1024;

/** The same of a text of megabytes, with turns of the event loop in between. */
export async function encodeQuotedPrintableInTurns(bytes: Uint8Array): Promise<Buffer> {
  const encoder = new QuotedPrintableEncoder(bytes);
  for (let end = TURN_BYTES; end < bytes.length; end += TURN_BYTES) {
    encoder.encodeUpTo(end);
    await EVENT_LOOP.next(OUTGOING);
  }
  encoder.encodeUpTo(bytes.length);
  return encoder.end();
}

class QuotedPrintableEncoder {
  private readonly out: Buffer;
  private at = 0;
  private length = 0;
  private column = 0;

  constructor(private readonly bytes: Uint8Array) {
    // Worst case: all escaped, 24 escapes and a soft break to a line, and an escaped space before a line end.
    this.out = Buffer.allocUnsafe(Math.ceil(bytes.length * 3.2) + 16);
  }

  /** Encodes up to this position, or up to a line further. */
  encodeUpTo(end: number): void {
    while (this.at < end) {
      this.at = this.copyLiterals(this.at);
      if (this.at < this.bytes.length) this.at = this.takeOther(this.at);
    }
  }

  end(): Buffer {
    this.escapeTrailingSpace();
    return this.out.subarray(0, this.length);
  }

  /** The hot loop: copies up to a byte that needs escaping, or to the end of the line. */
  private copyLiterals(from: number): number {
    const { bytes, out } = this;
    const end = Math.min(bytes.length, from + LINE_ROOM - this.column);
    let at = from;
    let length = this.length;
    while (at < end && LITERAL[bytes[at] as number] === 1) out[length++] = bytes[at++] as number;
    this.column += at - from;
    this.length = length;
    return at;
  }

  private takeOther(at: number): number {
    const byte = this.bytes[at] as number;
    if (byte === CR || byte === LF) return this.endLine(at);
    if (LITERAL[byte] === 1) {
      this.softBreak();
      return at;
    }
    if (byte === DOT || byte === LETTER_F) {
      this.reserve(1);
      if (this.column > 0 || !this.isRiskyAtLineStart(at)) this.put(byte);
      else this.escape(byte);
      return at + 1;
    }
    // For the first byte of a character, room for all of it.
    this.reserve(3 * sequenceLength(byte));
    this.escape(byte);
    return at + 1;
  }

  private isRiskyAtLineStart(at: number): boolean {
    const { bytes } = this;
    return bytes[at] === DOT || FROM.every((byte, index) => bytes[at + index] === byte);
  }

  private endLine(at: number): number {
    this.escapeTrailingSpace();
    this.put(CR);
    this.put(LF);
    this.column = 0;
    return this.bytes[at] === CR && this.bytes[at + 1] === LF ? at + 2 : at + 1;
  }

  /** RFC 2045 section 6.7 (3): white space at the end of a line is not to be trusted to survive. */
  private escapeTrailingSpace(): void {
    const last = this.column > 0 ? this.out[this.length - 1] : undefined;
    if (last !== SPACE && last !== TAB) return;
    this.length -= 1;
    this.column -= 1;
    this.reserve(3);
    this.escape(last);
  }

  private reserve(columns: number): void {
    if (this.column + columns > LINE_ROOM) this.softBreak();
  }

  private softBreak(): void {
    this.put(EQUALS);
    this.put(CR);
    this.put(LF);
    this.column = 0;
  }

  private escape(byte: number): void {
    this.put(EQUALS);
    this.put(HEX[byte >> 4] as number);
    this.put(HEX[byte & 15] as number);
  }

  private put(byte: number): void {
    this.out[this.length++] = byte;
    this.column += 1;
  }
}

/** Octets of the UTF-8 sequence that a byte begins (RFC 3629 section 3). */
function sequenceLength(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
