/** A place in a text, in UTF-16 units. */
export interface Occurrence {
  readonly start: number;
  readonly end: number;
}

/** RFC 2047: words that stand together are read together. */
const ENCODED_WORDS = /=\?[^?\s]{1,40}\?[BbQq]\?[^?\s]*\?=(?:\s+=\?[^?\s]{1,40}\?[BbQq]\?[^?\s]*\?=)*/g;
const ENCODED_WORD = /=\?([^?\s]+)\?([BbQq])\?([^?\s]*)\?=/g;

/** Runs that may hold something: as long as they have to be for it. */
export interface Runs {
  /** Runs of characters that may be base64 of so many bytes, or hexadecimal digits. */
  readonly runs: RegExp;
  /** Within such a run, hexadecimal digits of so many bytes. */
  readonly digits: RegExp;
  /** What bytes may say, as it depends on the character set. */
  readonly textsOf: (bytes: Buffer) => readonly string[];
}

/** What is long enough to hold so many bytes. */
export function runsOf(minBytes: number, textsOf: Runs['textsOf']): Runs {
  return {
    textsOf,
    runs: new RegExp(`[A-Za-z0-9+/_-]{${Math.ceil((minBytes * 4) / 3)},}={0,2}`, 'g'),
    digits: new RegExp(`[0-9A-Fa-f]{${2 * minBytes},}`, 'g'),
  };
}

/**
 * Runs of a text that are encoded as a whole, and hold something: base64 (RFC 4648 sections 4 and 5) wherever in the run it
 * begins, hexadecimal digits, encoded words.
 */
export function* decodedRuns(text: string, sought: Runs, holds: (decoded: string) => boolean): Generator<Occurrence> {
  for (const match of text.matchAll(sought.runs)) {
    if (holdsDecoded(match[0], sought, holds)) yield placeOf(match);
  }
  for (const match of text.matchAll(ENCODED_WORDS)) {
    if (holds(decodeWords(match[0]))) yield placeOf(match);
  }
}

/** What overlaps is replaced once. */
export function withReplaced(text: string, found: readonly Occurrence[], replacement: string): string {
  const parts: string[] = [];
  let done = 0;
  for (const { start, end } of found.toSorted((one, other) => one.start - other.start)) {
    if (start >= done) parts.push(text.slice(done, start), replacement);
    done = Math.max(done, end);
  }
  return parts.join('') + text.slice(done);
}

function placeOf(match: RegExpMatchArray): Occurrence {
  const start = match.index ?? 0;
  return { start, end: start + match[0].length };
}

function holdsDecoded(run: string, { digits, textsOf }: Runs, holds: (decoded: string) => boolean): boolean {
  const holdsBytes = (bytes: Buffer) => textsOf(bytes).some((text) => holds(text));
  const inBase64 = [0, 1, 2, 3].some((skipped) => holdsBytes(Buffer.from(run.slice(skipped), 'base64')));
  if (inBase64) return true;
  return [...run.matchAll(digits)].some(([each]) =>
    [0, 1].some((skipped) => holdsBytes(Buffer.from(each.slice(skipped), 'hex'))),
  );
}

/** ASCII, in UTF-16 and UTF-32 of either order as well, as it has only zeros beside it. */
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
  return [...words.matchAll(ENCODED_WORD)]
    .map(([, charset = '', encoding = '', content = '']) => decode(bytesOf(content, encoding), charset))
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

/** In an unknown character set as UTF-8. */
function decode(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString();
  }
}
