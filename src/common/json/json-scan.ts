/**
 * Checks the bytes of a JSON text before `JSON.parse` sees them.
 *
 * A byte limit alone does not bound the work: 10 MB of `[[[[…` keep `JSON.parse` busy for seconds, and what it builds then
 * overflows stacks further in. One pass over the bytes finds that in microseconds. The same pass finds what Postgres or the
 * object model would choke on: NUL characters, unpaired surrogates, numbers beyond double precision, keys that name the
 * prototype. It does not check the grammar, which `JSON.parse` does next.
 *
 * The input is well-formed UTF-8, so unpaired surrogates and NUL can only hide in `\u` escapes (a raw NUL is no JSON).
 * Long strings are skipped by the native byte search; both searches are remembered, so every byte is searched once.
 */
export type JsonProblem =
  | 'depth'
  | 'items'
  | 'nul'
  | 'surrogate'
  | 'forbidden-key'
  | 'duplicate-key'
  | 'number'
  | 'length';

export interface JsonScan {
  /** The first problem; only `explainJson` and `JsonReader` find `duplicate-key`, only the latter `length`. */
  readonly problem: JsonProblem | undefined;
  /** How many members the objects of the text have together, those of equal names included. */
  readonly members: number;
}

/** Callbacks during a scan, to name the places of problems. */
export interface ScanListener {
  open(isArray: boolean): void;
  close(): void;
  /** A comma. */
  next(): void;
  /** A string, in its quotes; @returns true for a key that its object has had already. */
  string(text: Buffer): boolean;
  /** @returns true to go on, where one problem does not decide about the whole text. */
  report(problem: JsonProblem): boolean;
}

export interface JsonLimits {
  readonly maxDepth: number;
  /** Commas and colons: about one per element, two per member. */
  readonly maxItems: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const LETTER_U = 0x75;

const OTHER = 0;
const STRING = 1;
const OPEN = 2;
const CLOSE = 3;
const SEPARATOR = 4;
const NUMBER = 5;

/** Kinds of bytes outside a string. */
const KINDS = new Uint8Array(256);
for (const [characters, kind] of [
  ['"', STRING],
  ['[{', OPEN],
  [']}', CLOSE],
  [',:', SEPARATOR],
  ['-0123456789', NUMBER],
] as const) {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
}

const NUMBER_BYTES = new Uint8Array(256);
for (const character of '+-.0123456789eE') NUMBER_BYTES[character.charCodeAt(0)] = 1;

/** Value of a hexadecimal digit, 16 for anything else. */
const HEX = new Uint8Array(256).fill(16);
for (let value = 0; value < 16; value += 1) {
  const digit = value.toString(16);
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toUpperCase().charCodeAt(0)] = value;
}

export const FORBIDDEN_KEYS = ['__proto__', 'prototype', 'constructor'];
const SHORTEST_FORBIDDEN = 9;
const LONGEST_FORBIDDEN = 11;
/** "constructor" with every letter written as an escape. */
const LONGEST_ESCAPED = 66;
/** Shorter runs are cheaper in JavaScript than a call into the native search. */
const NATIVE_SEARCH_AFTER = 24;
/** Up to here a number without an exponent is finite. */
export const FINITE_DIGITS = 300;
/** The exact decimal form of a double has fewer than 1,100 characters; reading one of megabytes would be a long piece of work. */
export const LONGEST_NUMBER = 2_000;

/** Scans well-formed UTF-8. Linear in the input; stops at the first problem that the listener does not accept. */
export function scanJson(bytes: Buffer, limits: JsonLimits, listener?: ScanListener): JsonScan {
  return new Scanner(bytes, limits, listener).run();
}

class Scanner {
  private readonly end: number;
  private depth = 0;
  private items = 0;
  private nextQuote = -1;
  private nextBackslash = -1;
  private members = 0;
  private problem: JsonProblem | undefined;

  constructor(
    private readonly bytes: Buffer,
    private readonly limits: JsonLimits,
    private readonly listener: ScanListener | undefined,
  ) {
    this.end = bytes.length;
  }

  run(): JsonScan {
    const { bytes, end } = this;
    let at = 0;
    while (at < end) {
      const kind = KINDS[bytes[at] as number] as number;
      if (kind === OTHER) at += 1;
      else if (kind === STRING) at = this.skipString(at);
      else if (kind === NUMBER) at = this.skipNumber(at);
      else {
        this.count(kind, at);
        at += 1;
      }
      if (this.problem !== undefined) break;
    }
    return { problem: this.problem, members: this.members };
  }

  private count(kind: number, at: number): void {
    if (kind === SEPARATOR) {
      this.countItem();
      if (this.bytes[at] === COLON) this.members += 1;
      else this.listener?.next();
    } else if (kind === OPEN) {
      this.depth += 1;
      this.listener?.open(this.bytes[at] === OPEN_ARRAY);
      if (this.depth > this.limits.maxDepth) this.report('depth');
    } else {
      this.depth -= 1;
      this.listener?.close();
    }
  }

  private countItem(): void {
    this.items += 1;
    if (this.items > this.limits.maxItems) this.report('items');
  }

  /** @returns the index after the closing quote, or the end of an unterminated text. */
  private skipString(open: number): number {
    const start = open + 1;
    let at = this.endOfPlainRun(start);
    let escaped = false;
    while (at < this.end && this.bytes[at] === BACKSLASH) {
      escaped = true;
      at = this.skipEscape(at);
      if (this.problem !== undefined) return this.end;
      at = this.endOfPlainRun(at);
    }
    if (at >= this.end) return this.end;
    if (this.isForbidden(start, at, escaped)) this.report('forbidden-key');
    if (this.listener?.string(this.bytes.subarray(open, at + 1)) === true) this.report('duplicate-key');
    return at + 1;
  }

  /** @returns the index of the next quote or backslash, or the end. */
  private endOfPlainRun(from: number): number {
    const { bytes, end } = this;
    const near = Math.min(from + NATIVE_SEARCH_AFTER, end);
    let at = from;
    for (; at < near; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE || byte === BACKSLASH) return at;
    }
    if (this.nextQuote < at) this.nextQuote = this.find(QUOTE, at);
    if (this.nextBackslash < at) this.nextBackslash = this.find(BACKSLASH, at);
    return Math.min(this.nextQuote, this.nextBackslash);
  }

  private find(byte: number, from: number): number {
    const found = this.bytes.indexOf(byte, from);
    return found === -1 ? this.end : found;
  }

  /** @returns the index after the escape, or after the pair of escapes of one character beyond U+FFFF. */
  private skipEscape(at: number): number {
    if (this.bytes[at + 1] !== LETTER_U) return at + 2;
    const unit = this.hex(at + 2);
    if (unit === 0) this.report('nul');
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    const paired = unit < 0xdc00 && this.bytes[at + 6] === BACKSLASH && this.bytes[at + 7] === LETTER_U;
    const low = paired ? this.hex(at + 8) : 0;
    if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
    // `JSON.parse` accepts an unpaired surrogate and continues right after it: so must this, or it misses the string's end.
    this.report('surrogate');
    return at + 6;
  }

  /** Four hexadecimal digits; beyond 0xffff when they are none, which `JSON.parse` then refuses. */
  private hex(at: number): number {
    let value = 0;
    for (let index = at; index < at + 4; index += 1) {
      const digit = HEX[this.bytes[index] ?? 0] as number;
      if (digit === 16) return 0x10000;
      value = value * 16 + digit;
    }
    return value;
  }

  private isForbidden(start: number, end: number, escaped: boolean): boolean {
    const length = end - start;
    if (length < SHORTEST_FORBIDDEN || length > (escaped ? LONGEST_ESCAPED : LONGEST_FORBIDDEN)) return false;
    if (!this.isKey(end + 1)) return false;
    const text = this.bytes.toString('latin1', start, end);
    if (!escaped) return FORBIDDEN_KEYS.includes(text);
    try {
      return FORBIDDEN_KEYS.includes(JSON.parse(`"${text}"`) as string);
    } catch {
      return false;
    }
  }

  /** A string is a key when a colon follows it. */
  private isKey(after: number): boolean {
    let at = after;
    while (at < this.end && isBlank(this.bytes[at] as number)) at += 1;
    return this.bytes[at] === COLON;
  }

  /** @returns the index after the number. */
  private skipNumber(start: number): number {
    const { bytes } = this;
    const end = Math.min(this.end, start + LONGEST_NUMBER + 1);
    let at = start;
    let exponent = false;
    while (at < end && NUMBER_BYTES[bytes[at] as number] === 1) {
      if (((bytes[at] as number) | 0x20) === 0x65) exponent = true;
      at += 1;
    }
    if (exponent || at - start > FINITE_DIGITS) {
      // Reading one costs more than passing a byte, so these are counted like separators.
      this.countItem();
      const value = Number(bytes.toString('latin1', start, at));
      if (value === Infinity || value === -Infinity || at - start > LONGEST_NUMBER) this.report('number');
    }
    return at;
  }

  private report(problem: JsonProblem): void {
    if (this.listener?.report(problem) !== true) this.problem ??= problem;
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
