import { isUtf8 } from 'node:buffer';
import { CHARACTER_NAMES } from './spelled-characters';
import { decodedRuns, type Occurrence, type Runs, type Step } from './encoded-runs';

/** Nested encodings that are undone before the search, in whatever spelling each layer has. */
const MAX_ENCODINGS = 2;

/** Characters scanned in far less than a millisecond. */
const SHORT = 1_024;

/** What a text has come from: `guess` may have been decoded although it was not encoded, `bytes` may be no text. */
export type Origin = 'text' | 'guess' | 'bytes';

/** The searched value. */
export interface Sought extends Runs {
  /** What is shorter does not hold it. */
  readonly minBytes: number;
  /** Where it stands in a text as it is, or in a spelling of its own. */
  spelled(text: string, origin: Origin): Iterable<Step>;
}

/**
 * Where something stands in a text, or is within what is encoded there. One may be in another, and they have no order. No step takes
 * longer than to read the text once, or one run of it.
 */
export function* occurrencesIn(
  text: string,
  sought: Sought,
  depth = MAX_ENCODINGS,
  origin: Origin = 'text',
): Generator<Step> {
  if (text.length < sought.minBytes) return;
  yield* sought.spelled(text, origin);
  if (depth > 0) yield* occurrencesWithin(text, sought, depth, origin);
}

/** Those that are encoded in another way than by a spelling. */
export function* occurrencesWithin(
  text: string,
  sought: Sought,
  depth = MAX_ENCODINGS,
  origin: Origin = 'text',
): Generator<Step> {
  const isLong = text.length > SHORT;
  if (isLong) yield undefined;
  const holdsBytes = (decoded: string) => holding(occurrencesIn(decoded, sought, depth - 1, 'bytes'));
  yield* decodedRuns(text, sought, holdsBytes);
  if (isLong) yield undefined;
  const joined = joinedReading(text);
  if (joined) yield* inSource(joined, decodedRuns(joined.text, sought, holdsBytes));
  for (const reading of readings(text)) {
    if (isLong) yield undefined;
    const readAs = reading.isGuess && origin === 'text' ? 'guess' : origin;
    yield* inSource(reading, occurrencesIn(reading.text, sought, depth - 1, readAs));
  }
}

function* inSource(reading: Reading, steps: Iterable<Step>): Generator<Step> {
  for (const step of steps) yield step && reading.sourceOf(step);
}

/** Whether anything is found. */
function* holding(steps: Iterable<Step>): Generator<undefined, boolean> {
  for (const step of steps) {
    if (step) return true;
    yield undefined;
  }
  return false;
}

/** A way to write characters of a text otherwise. */
interface Escape {
  /** The first characters of the encoding. */
  readonly sign: string;
  readonly pattern: RegExp;
  /** @returns nothing for NUL: ASCII in UTF-16 has no more than that beside it */
  readonly decode: (escaped: string) => string;
  /** The decoded text may also occur as it is: `=40` in a query. */
  readonly isGuess?: true;
}

/** A text as one decoding gives it back. */
export interface Reading {
  readonly text: string;
  /** It may have been decoded although it was not encoded. */
  readonly isGuess: boolean;
  /**
   * Its position in the decoded text; undefined when neither it nor the character before it was encoded: then it is found
   * without decoding.
   */
  sourceOf(occurrence: Occurrence): Occurrence | undefined;
}

/** Others stand in no address and in no encoding of one. */
const NAMES: Readonly<Record<string, string>> = {
  amp: '&',
  ...Object.fromEntries(Object.entries(CHARACTER_NAMES).map(([character, name]) => [name, character])),
};

const ESCAPES: readonly Escape[] = [
  // RFC 3986 section 2.1.
  { sign: '%', pattern: octets('%'), decode: decodeOctets },
  // RFC 2045 section 6.7: a `=` at the end of a line continues it.
  { sign: '=', pattern: new RegExp(`=[ \\t]*\\r?\\n|${octets('=').source}`, 'g'), decode: decodeOctets, isGuess: true },
  // RFC 8259 section 7, and JavaScript.
  {
    sign: '\\',
    pattern: new RegExp(
      `${octets('\\\\x').source}|\\\\(?:u[0-9A-Fa-f]{4}|u\\{0{0,4}[0-9A-Fa-f]{1,6}\\}|[bfnrtv0]|\\r?\\n|[^\\sA-Za-z0-9])`,
      'g',
    ),
    decode: decodeBackslash,
  },
  // HTML, section 13.5.
  {
    sign: '&',
    pattern: new RegExp(
      `&(?:#0{0,6}[0-9]{1,7};?|#[xX]0{0,6}[0-9A-Fa-f]{1,6};?|(?:${Object.keys(NAMES).join('|')});)`,
      'g',
    ),
    decode: decodeReference,
  },
];

/** The end of a base64 line that continues on the next one, possibly quoted. */
const BASE64_LINE_END = /(?<=[A-Za-z0-9+/]{16})[ \t]*\r?\n[> \t]*(?=[A-Za-z0-9+/])/g;

/** A text whose runs of base64 are whole; undefined when they were. */
export function joinedReading(text: string): Reading | undefined {
  const joined = read(text, BASE64_LINE_END, () => '');
  return joined && { ...joined, isGuess: false };
}

/** A text without one kind of escapes, for each kind that it has. */
export function* readings(text: string): Generator<Reading> {
  for (const { sign, pattern, decode, isGuess = false } of ESCAPES) {
    const reading = text.includes(sign) ? read(text, pattern, decode) : undefined;
    if (reading) yield { ...reading, isGuess };
  }
}

function read(text: string, pattern: RegExp, decode: Escape['decode']): Omit<Reading, 'isGuess'> | undefined {
  const parts: string[] = [];
  const edits: Edit[] = [];
  let [done, length] = [0, 0];
  for (const { index, 0: escaped } of text.matchAll(pattern)) {
    const decoded = decode(escaped);
    parts.push(text.slice(done, index), decoded);
    length += index - done;
    done = index + escaped.length;
    edits.push({ start: length, end: length + decoded.length, source: { start: index, end: done } });
    length += decoded.length;
  }
  if (edits.length === 0) return undefined;
  const whole = parts.join('') + text.slice(done);
  return { text: whole, sourceOf: (occurrence) => sourceOf(whole, edits, occurrence) };
}

/** An escape: its position in the decoded text, and in the source. */
interface Edit extends Occurrence {
  readonly source: Occurrence;
}

function sourceOf(text: string, edits: readonly Edit[], { start, end }: Occurrence): Occurrence | undefined {
  const next = firstIndex(edits, (edit) => edit.start >= end);
  const first = firstIndex(edits, (edit) => edit.end > start);
  const before = edits[first - 1];
  if (first >= next && !(before?.end === start && before.start < start && isAscii(text, start - 1))) return undefined;
  return { start: startOf(before, edits[first], start), end: endOf(edits[next - 1], end) };
}

function startOf(before: Edit | undefined, edit: Edit | undefined, start: number): number {
  if (edit && edit.start <= start) return edit.source.start;
  return before ? before.source.end + start - before.end : start;
}

function endOf(edit: Edit | undefined, end: number): number {
  return edit ? edit.source.end + Math.max(0, end - edit.end) : end;
}

/** Not so what `=de` is read as. */
function isAscii(text: string, at: number): boolean {
  return text.charCodeAt(at) < 0x80;
}

/** Binary search: elements fail a condition up to some index, and meet it from there on. */
function firstIndex<T>(list: readonly T[], isMet: (element: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const element = list[middle];
    if (element !== undefined && isMet(element)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function octets(sign: string): RegExp {
  return new RegExp(`${sign}[0-7][0-9A-Fa-f]|(?:${sign}[89A-Fa-f][0-9A-Fa-f])+`, 'g');
}

/** Beyond ASCII in UTF-8, or else in Latin 1. A line break has no digits, and stands for nothing. */
function decodeOctets(escaped: string): string {
  const bytes = Buffer.from(escaped.replace(/[^0-9A-Fa-f]/g, ''), 'hex');
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1').replace('\0', '');
}

function decodeBackslash(escaped: string): string {
  const [, kind = ''] = escaped;
  if (kind === 'x') return decodeOctets(escaped);
  if (kind === 'u') return characterOf(escaped.replace(/[^0-9A-Fa-f]/g, ''), 16);
  if (/[bfnrtv]/.test(kind)) return ' ';
  return /[0\s]/.test(kind) ? '' : kind;
}

function decodeReference(escaped: string): string {
  const name = escaped.replace(/[&;]/g, '');
  if (!name.startsWith('#')) return NAMES[name] ?? '';
  return /^#x/i.test(name) ? characterOf(name.slice(2), 16) : characterOf(name.slice(1), 10);
}

function characterOf(digits: string, base: number): string {
  const code = Number.parseInt(digits, base);
  return code === 0 || code > 0x10ffff ? '' : String.fromCodePoint(code);
}
