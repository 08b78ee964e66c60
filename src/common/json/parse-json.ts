import { isUtf8 } from 'node:buffer';
import { EVENT_LOOP } from '../async/fair-turns';
import { ValidationError } from '../errors/app-error';
import { countMembers, explainJson, MAX_DEPTH, refused } from './json-problems';
import { JsonReader } from './json-reader';
import { scanJson } from './json-scan';

/** Members and elements of a text, where its reader sets no other limit. */
export const MAX_ITEMS = 20_000;

/**
 * Reads a JSON text (RFC 8259) in UTF-8; a byte order mark is skipped, as the RFC allows; no bytes are no value.
 * @throws ValidationError for broken UTF-8 or JSON, for what `scanJson` finds and for equal keys, naming the field
 */
export function parseJson(bytes: Buffer, maxItems: number = MAX_ITEMS): unknown {
  return parse(bytes, maxItems, (text, limits) => {
    const { whole } = explainJson(text, limits, false);
    if (whole) throw refused(whole);
  });
}

/**
 * Reads a JSON array with independent elements: a problem inside one makes that one a `ValidationError`.
 * @throws ValidationError for problems of the text as a whole
 */
export function parseElements(bytes: Buffer, maxItems: number): unknown {
  return parse(bytes, maxItems, (text, limits) => {
    const { whole, elements } = explainJson(text, limits, true);
    if (whole) throw refused(whole);
    const values = read(text) as unknown[];
    return values.map((value, index) => {
      const finding = elements.get(index);
      return finding ? refused(finding) : value;
    });
  });
}

/**
 * What `parseJson` or `parseElements` make of it, a piece in each of the holder's turns of the event loop.
 * @throws ValidationError
 */
export async function parseInTurns(
  bytes: Buffer,
  { elementwise, maxItems }: { readonly elementwise: boolean; readonly maxItems: number },
  holder: string,
): Promise<unknown> {
  const reader = new JsonReader(withoutMark(bytes), { maxDepth: MAX_DEPTH, maxItems }, elementwise);
  do await EVENT_LOOP.next(holder);
  while (!reader.step());
  return reader.value;
}

/** @param explain what a text with a problem is read as */
function parse(
  bytes: Buffer,
  maxItems: number,
  explain: (text: Buffer, limits: { maxDepth: number; maxItems: number }) => unknown,
): unknown {
  const text = textOf(bytes);
  const limits = { maxDepth: MAX_DEPTH, maxItems };
  const { problem, members } = scanJson(text, limits);
  if (problem !== undefined) return explain(text, limits);
  const value = read(text);
  return countMembers(value) === members ? value : explain(text, limits);
}

function textOf(bytes: Buffer): Buffer {
  if (!isUtf8(bytes)) throw new ValidationError({ body: ['is not well-formed UTF-8'] });
  return withoutMark(bytes);
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function read(text: Buffer): unknown {
  if (text.length === 0) return undefined;
  try {
    return JSON.parse(text.toString('utf8'));
  } catch (error) {
    throw new ValidationError({ body: [`is not valid JSON${positionIn(error)}`] });
  }
}

function positionIn(error: unknown): string {
  const position = /position (\d+)/.exec((error as SyntaxError).message)?.[1];
  return position === undefined ? '' : ` at position ${position}`;
}
