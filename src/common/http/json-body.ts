import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import { AppError, ValidationError } from '../errors/app-error';
import { EVENT_LOOP } from '../async/fair-turns';
import { countMembers, explainJson, MAX_DEPTH, refused } from './json-problems';
import { JsonReader } from './json-reader';
import { scanJson } from './json-scan';
import { type BodyOptions, DEFAULT_BODY, FREE_BYTES, holderOf, readBody } from './request-body';

/**
 * Reads the body of a request as JSON in UTF-8.
 * @returns undefined for an empty body and for one that the route ignores
 * @throws AppError unsupported_media_type, payload_too_large, service_unavailable; ValidationError for what is no JSON
 */
export function readJson(request: Request, options: BodyOptions): unknown {
  if (!options.ignored) requireJson(request.headers);
  const bytes = readBody(request, options.maxBytes);
  if (!(bytes instanceof Promise)) return parseBody(bytes, options);
  return bytes.then((all) =>
    all.length <= FREE_BYTES || options.ignored
      ? parseBody(all, options)
      : parseInTurns(all, options, holderOf(request)),
  );
}

function parseBody(bytes: Buffer, { ignored, elementwise, maxItems }: BodyOptions): unknown {
  if (ignored) return undefined;
  return elementwise ? parseElements(bytes, maxItems) : parseJson(bytes, maxItems);
}

/**
 * What `parseJson` or `parseElements` make of it, a piece in each of the holder's turns of the event loop.
 * @throws ValidationError
 */
export async function parseInTurns(
  bytes: Buffer,
  { elementwise, maxItems }: Pick<BodyOptions, 'elementwise' | 'maxItems'>,
  holder: string,
): Promise<unknown> {
  const reader = new JsonReader(withoutMark(bytes), { maxDepth: MAX_DEPTH, maxItems }, elementwise);
  do await EVENT_LOOP.next(holder);
  while (!reader.step());
  return reader.value;
}

function requireJson(headers: IncomingHttpHeaders): void {
  if (isEncoded(headers['content-encoding'])) {
    throw unsupported('Compressed bodies are not accepted', 'Send the body as it is, without Content-Encoding');
  }
  if (!isJsonInUtf8(headers['content-type'])) {
    throw unsupported('Only application/json in UTF-8 is accepted', 'Send Content-Type: application/json');
  }
}

/** The field is a list, whose empty elements say nothing (RFC 9110 section 5.6.1.2). */
function isEncoded(encodings: string | undefined): boolean {
  if (encodings === undefined) return false;
  const codings = encodings.split(',').map((coding) => coding.trim().toLowerCase());
  return codings.some((coding) => coding !== '' && coding !== 'identity');
}

function isJsonInUtf8(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  return (
    type.trim() === 'application/json' &&
    parameters.every((parameter) => !/^\s*charset/.test(parameter) || /^\s*charset="?utf-?8"?\s*$/.test(parameter))
  );
}

function unsupported(message: string, suggestion: string): AppError {
  return new AppError('unsupported_media_type', message, { suggestion });
}

/**
 * Reads a JSON text (RFC 8259) in UTF-8; a byte order mark is skipped, as the RFC allows; no bytes are no value.
 * @throws ValidationError for broken UTF-8 or JSON, for what `scanJson` finds and for equal keys, naming the field
 */
export function parseJson(bytes: Buffer, maxItems: number = DEFAULT_BODY.maxItems): unknown {
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
