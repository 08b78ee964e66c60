import type { ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { NextFunction } from 'express';
import { UnknownKeyError } from '../../encryption/encryption';
import {
  AppError,
  ERROR_CODES,
  type ErrorCode,
  NotFoundError,
  UnavailableError,
  ValidationError,
} from '../../errors/app-error';

/** What frameworks' own 4xx and 503 mean in the contract; other 4xx are malformed requests, other 5xx internal errors. */
const CODES_BY_STATUS: ReadonlyMap<number, readonly [code: ErrorCode, message: string]> = new Map([
  [401, ['invalid_api_key', 'The API key is missing or not valid']],
  [403, ['insufficient_permissions', 'This request is not permitted']],
  [405, ['method_not_allowed', 'This path does not support the method']],
  [408, ['request_timeout', 'The request did not arrive in time']],
  [413, ['payload_too_large', 'The body exceeds the size limit']],
  [415, ['unsupported_media_type', 'Only application/json in UTF-8 is accepted']],
  [417, ['expectation_failed', 'The Expect header cannot be met']],
  [429, ['rate_limit_exceeded', 'Too many requests']],
  [431, ['headers_too_large', 'The request headers exceed the size limit']],
  [503, ['service_unavailable', 'The service is temporarily unavailable']],
] as const);

/** Until the operator has restarted this process with the key. */
const KEY_RETRY_SECONDS = 30;

/** A path segment longer than any id or address names nothing, like an unknown one. */
const NOT_FOUND = [404, 414];

/**
 * The error that the API returns for any thrown value. Only exceptions of Nest, Express and its middleware keep their status;
 * all else is an internal error whose text discloses nothing.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof UnknownKeyError) return new UnavailableError(undefined, error, KEY_RETRY_SECONDS);
  const status = frameworkStatus(error);
  if (status === undefined) return internalError(error);
  if (NOT_FOUND.includes(status)) return new NotFoundError('Resource');
  const known = CODES_BY_STATUS.get(status);
  if (known) return new AppError(known[0], known[1], { cause: error, ...(status === 503 && { retryAfterSeconds: 1 }) });
  if (status >= 500) return internalError(error);
  return new ValidationError({ request: messagesOf(error as Error) });
}

function internalError(cause: unknown): AppError {
  return new AppError('internal_error', 'An unexpected error occurred', {
    suggestion: 'Try again later; if it persists, quote the X-Request-Id of this response to the operator',
    cause,
  });
}

function frameworkStatus(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  return isHttpError(error) ? error.statusCode : undefined;
}

/** The form of the package http-errors, which Express and its middleware use. */
function isHttpError(error: unknown): error is Error & { readonly statusCode: number } {
  if (!(error instanceof Error)) return false;
  const { expose, status, statusCode } = error as { expose?: unknown; status?: unknown; statusCode?: unknown };
  return typeof expose === 'boolean' && typeof statusCode === 'number' && statusCode >= 400 && status === statusCode;
}

/** Nest's pipes put a list of messages into the response object. */
function messagesOf(error: Error): string[] {
  const response = error instanceof HttpException ? error.getResponse() : undefined;
  const messages = (response as { message?: unknown } | undefined)?.message;
  return Array.isArray(messages) ? messages.map(String) : [error.message];
}

/** The HTTP status of an error. */
export function statusOf(error: AppError): number {
  return ERROR_CODES[error.code].status;
}

/** The error envelope as JSON text. */
export function errorBody({ code, message, details, suggestion }: AppError): string {
  return JSON.stringify({ error: { code, message, details, suggestion } });
}

/** Sends the envelope. Errors are never cached, whatever the handler had in mind. */
export function sendError(response: ServerResponse, error: AppError): void {
  response.statusCode = statusOf(error);
  if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds);
  if (error.replayed) response.setHeader('idempotent-replayed', 'true');
  // RFC 9110 section 11.6.1.
  if (response.statusCode === 401) response.setHeader('www-authenticate', 'Bearer');
  // RFC 9110 section 15.5.6.
  if (Array.isArray(error.details?.allowed)) response.setHeader('allow', error.details.allowed.join(', '));
  response.setHeader('cache-control', 'no-store');
  response.setHeader('content-type', JSON_TYPE);
  endWith(response, errorBody(error));
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** A long body, in pieces: joined, they would be in memory twice, and the copy takes tens of milliseconds. */
export class ResponsePieces {
  constructor(readonly pieces: readonly Uint8Array[]) {}

  get byteLength(): number {
    return this.pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }
}

const JOINED_BYTES = 256 * 1024;

type Content = string | Uint8Array | ResponsePieces;

/** Ends a response with a body of known length. */
export function endWith(response: ServerResponse, body: Content): void {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  response.setHeader('content-length', length);
  if (!(body instanceof ResponsePieces)) response.end(body);
  // Writing in parts costs more than a small copy.
  else if (length <= JOINED_BYTES) response.end(Buffer.concat(body.pieces));
  else writePieces(response, body.pieces);
}

/**
 * As fast as the client reads; nothing more once it has gone. `pipeline` adds so many listeners to those of the server that Node warns of
 * a leak.
 */
function writePieces(response: ServerResponse, pieces: readonly Uint8Array[], first = 0): void {
  for (let at = first; at < pieces.length; at += 1) {
    if (response.write(pieces[at])) continue;
    response.once('drain', () => writePieces(response, pieces, at + 1));
    return;
  }
  response.end();
}

/** What a handler returned, as the content of its response, with the type unless it set one. */
export function contentOf(body: unknown): [type: string | undefined, content: Content] {
  if (body === undefined || body === null) return [undefined, ''];
  if (typeof body === 'string') return ['text/plain; charset=utf-8', body];
  if (body instanceof Uint8Array || body instanceof ResponsePieces) return ['application/octet-stream', body];
  return [JSON_TYPE, JSON.stringify(body)];
}

/** Turns errors of lower layers (the database driver) into an `AppError` where it recognises them. */
export type ErrorTranslator = (error: unknown) => unknown;

/** Global filter: hands whatever a guard, pipe or handler throws to the error handler of the HTTP server. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const next = host.switchToHttp().getNext<NextFunction>();
    next(
      exception instanceof Error ? exception : new Error('A value that is no error was thrown', { cause: exception }),
    );
  }
}
