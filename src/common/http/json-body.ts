import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import { AppError, ValidationError } from '../errors/app-error';
import { pathAt } from './field-path';
import { type JsonFinding, type JsonProblem, scanJson } from './json-scan';
import { type BodyOptions, DEFAULT_BODY, readBody } from './request-body';

const MAX_DEPTH = 32;

const PROBLEMS: Record<JsonProblem, string> = {
  depth: `must not be nested deeper than ${MAX_DEPTH} levels`,
  items: 'holds too many values',
  nul: 'must not contain NUL characters',
  surrogate: 'must not contain unpaired surrogates',
  'forbidden-key': 'must not use the keys __proto__, constructor or prototype',
  number: 'is too large a number',
};

/**
 * Reads the body of a request as JSON in UTF-8.
 * @returns undefined for an empty body and for one that the route ignores
 * @throws AppError unsupported_media_type, payload_too_large, service_unavailable; ValidationError for what is no JSON
 */
export function readJson(request: Request, options: BodyOptions): unknown {
  if (!options.ignored) requireJson(request.headers);
  const bytes = readBody(request, options.maxBytes);
  return bytes instanceof Promise ? bytes.then((all) => parseBody(all, options)) : parseBody(bytes, options);
}

function parseBody(bytes: Buffer, { ignored, elementwise, maxItems }: BodyOptions): unknown {
  if (ignored) return undefined;
  return elementwise ? parseElements(bytes, maxItems) : parseJson(bytes, maxItems);
}

function requireJson(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw unsupported('Compressed bodies are not accepted');
  }
  if (!isJsonInUtf8(headers['content-type'])) throw unsupported('Only application/json in UTF-8 is accepted');
}

function isJsonInUtf8(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  return (
    type.trim() === 'application/json' &&
    parameters.every((parameter) => !/^\s*charset/.test(parameter) || /^\s*charset="?utf-?8"?\s*$/.test(parameter))
  );
}

function unsupported(message: string): AppError {
  return new AppError('unsupported_media_type', message, { suggestion: 'Send Content-Type: application/json' });
}

/**
 * Reads a JSON text (RFC 8259) in UTF-8; a byte order mark is skipped, as the RFC allows; no bytes are no value.
 * @throws ValidationError for broken UTF-8 or JSON and for what `scanJson` finds, naming the field where it can.
 */
export function parseJson(bytes: Buffer, maxItems: number = DEFAULT_BODY.maxItems): unknown {
  const text = textOf(bytes);
  const finding = scanJson(text, { maxDepth: MAX_DEPTH, maxItems });
  if (finding) throw refused(text, finding);
  return read(text);
}

/**
 * Reads a JSON array whose elements stand alone: what `scanJson` finds inside one makes that one a `ValidationError`.
 * @throws ValidationError for what concerns the text as a whole
 */
export function parseElements(bytes: Buffer, maxItems: number): unknown {
  const text = textOf(bytes);
  const limits = { maxDepth: MAX_DEPTH, maxItems };
  const finding = scanJson(text, limits);
  if (!finding) return read(text);
  const unreadable = scanJson(text, { ...limits, structureOnly: true });
  if (unreadable) throw refused(text, unreadable);
  const value = read(text);
  if (!Array.isArray(value)) throw refused(text, finding);
  return value.map((element: unknown, index) => {
    const own = Buffer.from(JSON.stringify(element));
    const problem = scanJson(own, limits);
    return problem ? refused(own, problem, `${index}.`) : element;
  });
}

function textOf(bytes: Buffer): Buffer {
  if (!isUtf8(bytes)) throw new ValidationError({ body: ['is not well-formed UTF-8'] });
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

function refused(text: Buffer, { problem, offset }: JsonFinding, prefix = ''): ValidationError {
  const isWhole = problem === 'depth' || problem === 'items';
  return new ValidationError({ [isWhole ? 'body' : prefix + pathAt(text, offset)]: [PROBLEMS[problem]] });
}

function positionIn(error: unknown): string {
  const position = /position (\d+)/.exec((error as SyntaxError).message)?.[1];
  return position === undefined ? '' : ` at position ${position}`;
}
