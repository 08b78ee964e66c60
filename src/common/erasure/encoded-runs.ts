import { TextDecoder } from 'node:util';

/** A place in a text, in UTF-16 units. */
export interface Occurrence {
  readonly start: number;
  readonly end: number;
}

/** Of a search: a place that was found, or none. Between two of them the event loop may have its turn. */
export type Step = Occurrence | undefined;

/** RFC 2047: words that stand together are read together. */
const ENCODED_WORDS = /=\?[^?\s]{1,40}\?[BbQq]\?[^?\s]*\?=(?:\s+=\?[^?\s]{1,40}\?[BbQq]\?[^?\s]*\?=)*/g;
const ENCODED_WORD = /=\?([^?\s]+)\?([BbQq])\?([^?\s]*)\?=/g;

/** Runs that may hold something: as long as they have to be for it. */
export interface Runs {
  /** Runs of characters that may be base64 of so many bytes, or hexadecimal digits. */
  readonly runs: RegExp;
  /** Within such a run, hexadecimal digits of so many bytes. */
  readonly digits: RegExp;
  /** Texts that bytes may stand for, by character set. */
  readonly textsOf: (bytes: Buffer) => readonly string[];
}

/** Whether a decoded text holds the searched value; the event loop may get a turn between its steps. */
type Holds = (decoded: string) => Generator<undefined, boolean>;

/** What is long enough to hold so many bytes. */
export function runsOf(minBytes: number, textsOf: Runs['textsOf']): Runs {
  return {
    textsOf,
    runs: new RegExp(`[A-Za-z0-9+/_-]{${Math.ceil((minBytes * 4) / 3)},}={0,2}`, 'g'),
    digits: new RegExp(`[0-9A-Fa-f]{${2 * minBytes},}`, 'g'),
  };
}

/**
 * Runs of a text that are encoded as a whole, and hold the searched value: base64 (RFC 4648 sections 4 and 5) at any offset
 * within the run, hexadecimal digits, encoded words.
 */
export function* decodedRuns(text: string, sought: Runs, holds: Holds): Generator<Step> {
  for (const match of text.matchAll(sought.runs)) {
    yield undefined;
    if (yield* holdsDecoded(match[0], sought, holds)) yield placeOf(match);
  }
  for (const match of text.matchAll(ENCODED_WORDS)) {
    yield undefined;
    if (yield* holds(decodeWords(match[0]))) yield placeOf(match);
  }
}

/** What overlaps is replaced once. @param replacement of all, or of what starts at a position, in ascending order */
export function withReplaced(
  text: string,
  found: readonly Occurrence[],
  replacement: string | ((start: number) => string),
): string {
  const replacementAt = typeof replacement === 'string' ? () => replacement : replacement;
  const parts: string[] = [];
  let done = 0;
  for (const { start, end } of found.toSorted((one, other) => one.start - other.start)) {
    if (start >= done) parts.push(text.slice(done, start), replacementAt(start));
    done = Math.max(done, end);
  }
  return parts.join('') + text.slice(done);
}

function placeOf(match: RegExpMatchArray): Occurrence {
  const start = match.index ?? 0;
  return { start, end: start + match[0].length };
}

function* holdsDecoded(run: string, { digits, textsOf }: Runs, holds: Holds): Generator<undefined, boolean> {
  for (const bytes of decodedFrom(run, digits)) {
    for (const text of textsOf(bytes)) if (yield* holds(text)) return true;
  }
  return false;
}

function* decodedFrom(run: string, digits: RegExp): Generator<Buffer> {
  for (const skipped of [0, 1, 2, 3]) yield Buffer.from(run.slice(skipped), 'base64');
  for (const [each] of run.matchAll(digits)) {
    for (const skipped of [0, 1]) yield Buffer.from(each.slice(skipped), 'hex');
  }
}

/** ASCII, also in UTF-16 and UTF-32 of either order, as it has only zeros beside it. */
export function asciiTexts(bytes: Buffer): string[] {
  return [bytes.toString('latin1').replaceAll('\0', '')];
}

/** In UTF-8; ASCII as above. */
export function utf8Texts(bytes: Buffer): string[] {
  return [bytes.toString('utf8').replaceAll('\0', '')];
}

/** Also in ISO 8859-1, and in UTF-16 of either order. */
export function allTexts(bytes: Buffer): string[] {
  const swapped = Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16();
  return [...utf8Texts(bytes), bytes.toString('latin1'), bytes.toString('utf16le'), swapped.toString('utf16le')];
}

function decodeWords(words: string): string {
  const decoders = new Map<string, TextDecoder | undefined>();
  return [...words.matchAll(ENCODED_WORD)]
    .map(([, charset = '', encoding = '', content = '']) => {
      if (!decoders.has(charset)) decoders.set(charset, decoderOf(charset));
      const bytes = bytesOf(content, encoding);
      return decoders.get(charset)?.decode(bytes) ?? bytes.toString();
    })
    .join('');
}

function bytesOf(content: string, encoding: string): Buffer {
  if (encoding.toUpperCase() === 'B') return Buffer.from(content, 'base64');
  const plain = content.replaceAll('_', ' ');
  return Buffer.from(
    plain.replace(/=([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
}

/** @returns nothing for an unknown character set, which is read as UTF-8 */
function decoderOf(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset);
  } catch {
    return undefined;
  }
}
