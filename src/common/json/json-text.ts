import { isUtf8 } from 'node:buffer';
import { ValidationError } from '../errors/app-error';
import type { JsonProblem } from './json-scan';

const MIB = 1024 * 1024;
/** Bytes of a string that are read at a time. */
const PIECE = 64 * 1024;
/** The longest names and texts that any route could take: base64 of all that a body may hold, and a suppression list. */
const LONGEST = { key: MIB, ascii: 40 * MIB, other: 10 * MIB };

const [QUOTE, BACKSLASH, SPACE, LETTER_U] = [0x22, 0x5c, 0x20, 0x75];

/** In pairs, surrogates are one character each. */
const UNPAIRED = /\p{Surrogate}/u;

/** Where to go on, and what is wrong with what was read. */
interface Progress {
  readonly next: number;
  readonly problem?: JsonProblem | undefined;
}

interface Piece {
  readonly end: number;
  readonly isEscaped: boolean;
  readonly isAscii: boolean;
}

/** A string of a JSON text that is read piece by piece, however long it is. */
export class JsonText {
  isClosed = false;
  private readonly pieces: string[] = [];
  private length = 0;
  private isAscii = true;
  /** Start of bytes that need no decoding: they are copied once, however many pieces they were. */
  private plainFrom: number | undefined;
  /** The first half of a surrogate pair whose second half may start the next piece. */
  private half = '';

  constructor(
    private readonly bytes: Buffer,
    readonly isKey: boolean,
  ) {}

  /** Once it is closed; empty when it is too long. */
  get value(): string {
    if (!this.isKept) return '';
    return this.pieces.length === 1 ? (this.pieces[0] as string) : this.pieces.join('');
  }

  /**
   * Reads a piece.
   * @param at the start: after the opening quote, then the end of the last piece
   * @throws ValidationError for what is no JSON or no UTF-8
   */
  read(at: number): Progress {
    const piece = this.find(at);
    this.isClosed = this.bytes[piece.end] === QUOTE;
    if (!this.isClosed && piece.end >= this.bytes.length) throw invalid(this.bytes.length);
    const problem = piece.isAscii && !piece.isEscaped ? this.addPlain(at, piece.end) : this.addDecoded(at, piece);
    if (this.isClosed) this.endPlain(piece.end);
    return { next: this.isClosed ? piece.end + 1 : piece.end, problem };
  }

  /** Up to the closing quote, or so far that no escape and no character is cut in two. */
  private find(start: number): Piece {
    const { bytes } = this;
    const limit = Math.min(start + PIECE, bytes.length);
    let at = start;
    let bits = 0;
    let isEscaped = false;
    for (; at < limit && bytes[at] !== QUOTE; at += 1) {
      const byte = bytes[at] as number;
      if (byte < SPACE) throw invalid(at);
      bits |= byte;
      if (byte !== BACKSLASH) continue;
      isEscaped = true;
      at += bytes[at + 1] === LETTER_U ? 5 : 1;
    }
    const isAscii = bits < 0x80;
    for (let back = 0; !isAscii && back < 3 && isContinuation(bytes[at]); back += 1) at -= 1;
    return { end: at, isEscaped, isAscii };
  }

  private addPlain(start: number, end: number): JsonProblem | undefined {
    const problem = this.half === '' ? undefined : this.endHalf();
    this.plainFrom ??= start;
    return this.grow(end - start) ?? problem;
  }

  private addDecoded(start: number, piece: Piece): JsonProblem | undefined {
    this.endPlain(start);
    const text = this.half + this.decode(start, piece);
    const isCut = !this.isClosed && (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;
    const whole = isCut ? text.slice(0, -1) : text;
    this.half = isCut ? text.slice(-1) : '';
    this.isAscii &&= piece.isAscii && !/[^\0-\x7f]/.test(whole);
    const problem = this.grow(whole.length);
    if (this.isKept) this.pieces.push(whole);
    return problem ?? problemOf(whole);
  }

  /** No second half has come. */
  private endHalf(): JsonProblem {
    this.pieces.push(this.half);
    this.half = '';
    return 'surrogate';
  }

  private decode(start: number, { end, isEscaped, isAscii }: Piece): string {
    const { bytes } = this;
    if (!isAscii && !isUtf8(bytes.subarray(start, end))) {
      throw new ValidationError({ body: ['is not well-formed UTF-8'] });
    }
    const text = bytes.toString(isAscii ? 'latin1' : 'utf8', start, end);
    if (!isEscaped) return text;
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      throw invalid(start);
    }
  }

  private endPlain(end: number): void {
    if (this.plainFrom === undefined) return;
    if (this.isKept) this.pieces.push(this.bytes.toString('latin1', this.plainFrom, end));
    this.plainFrom = undefined;
  }

  private get isKept(): boolean {
    return this.length <= this.longest;
  }

  private get longest(): number {
    if (this.isKey) return LONGEST.key;
    return this.isAscii ? LONGEST.ascii : LONGEST.other;
  }

  private grow(by: number): JsonProblem | undefined {
    this.length += by;
    return this.isKept ? undefined : 'length';
  }
}

function problemOf(text: string): JsonProblem | undefined {
  if (text.includes('\0')) return 'nul';
  return UNPAIRED.test(text) ? 'surrogate' : undefined;
}

function invalid(at: number): ValidationError {
  return new ValidationError({ body: [`is not valid JSON at byte ${at}`] });
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
