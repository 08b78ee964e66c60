import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import { AppError } from '../../errors/app-error';
import { parseElements, parseInTurns, parseJson } from '../../json/parse-json';
import { type BodyOptions, LARGE_BYTES, holderOf, readBody } from './request-body';

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
    all.length <= LARGE_BYTES || options.ignored
      ? parseBody(all, options)
      : parseInTurns(all, options, holderOf(request)),
  );
}

function parseBody(bytes: Buffer, { ignored, elementwise, maxItems }: BodyOptions): unknown {
  if (ignored) return undefined;
  return elementwise ? parseElements(bytes, maxItems) : parseJson(bytes, maxItems);
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
