import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, ValidationError } from '../errors/app-error';
import { type BodyOptions, DEFAULT_BODY } from './body-options';
import { type BodyBudget, readBody } from './body-reader';
import { pathAt } from './json-path';
import { type JsonFinding, type JsonProblem, scanJson } from './json-scan';

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
 * Makes JSON in UTF-8 the only body the server reads. A body it cannot take is no error yet: the reason waits in
 * `request.refusal` until the caller is authenticated and counted (`BodyGuard` throws it then). An absent or empty body is
 * left `undefined`, whatever its declared type, for the routes that take none.
 */
export function acceptJsonBodies(instance: FastifyInstance, budget: BodyBudget): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (request: FastifyRequest, _payload, done) => {
    const { headers } = request.raw;
    if (isBodiless(headers)) return done(null);
    const options = request.routeOptions.config.body ?? DEFAULT_BODY;
    request.refusal = options.ignored ? undefined : refuseMediaType(headers);
    if (request.refusal) return done(null);
    readBody(request, options.maxBytes, budget, (refusal, bytes) => {
      request.refusal = refusal;
      done(null, bytes && !options.ignored ? parsed(request, bytes, options) : undefined);
    });
  });
}

function isBodiless(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
}

function refuseMediaType(headers: IncomingHttpHeaders): AppError | undefined {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return unsupported('Compressed bodies are not accepted');
  }
  return isJsonInUtf8(headers['content-type']) ? undefined : unsupported('Only application/json in UTF-8 is accepted');
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

function parsed(request: FastifyRequest, bytes: Buffer, options: BodyOptions): unknown {
  try {
    return options.elementwise ? parseElements(bytes, options.maxItems) : parseJson(bytes, options.maxItems);
  } catch (error) {
    request.refusal = error as AppError;
    return undefined;
  }
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
