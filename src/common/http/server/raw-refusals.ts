import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Request } from 'express';
import { AppError, ValidationError } from '../../errors/app-error';
import { errorBody, JSON_TYPE, statusOf } from '../responses/error-response';
import { sendRefusal } from '../responses/error-page';
import { type LogRequest, newRequestId } from '../request/request';
import type { StandardHeaders } from '../request/express-messages';

const MAX_HEADER_FIELDS = 100;
/** How long what a refused client still sends is read, so that it gets to see the response before the connection breaks. */
const LINGER_MS = 1_000;

/** Why a request that Node's parser let through is refused before it is routed; undefined for nearly all. */
export function refuseRequest(request: IncomingMessage): AppError | undefined {
  const { rawHeaders: fields, url = '' } = request;
  if (fields.length > 2 * MAX_HEADER_FIELDS) {
    return new AppError('headers_too_large', 'The request has too many headers');
  }
  if (!hasOneHost(request)) return new ValidationError({ Host: ['must be given exactly once'] });
  // RFC 9112 section 5.1. The parser of Node 20.19.0 takes the blank for a part of the name: a proxy may see another field.
  if (fields.some((name, index) => index % 2 === 0 && name.endsWith(' '))) {
    return new ValidationError({ request: ['is not well-formed HTTP'] });
  }
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && !isReadable(coding, request)) {
    return new ValidationError({ 'Transfer-Encoding': ['must be chunked, and nothing else, in HTTP/1.1'] });
  }
  if (url.charCodeAt(0) !== 0x2f) return new ValidationError({ url: ['must be a path'] });
  return url.includes('%') ? refuseEncoding(url) : undefined;
}

/** RFC 9112 section 6.1: HTTP/1.0 has no transfer codings, so that a proxy may see the end of the body elsewhere. */
function isReadable(coding: string, { httpVersionMinor }: IncomingMessage): boolean {
  return coding.toLowerCase() === 'chunked' && httpVersionMinor > 0;
}

/** RFC 9112 section 3.2. HTTP/1.0 may leave it out. */
function hasOneHost({ rawHeaders: fields, httpVersionMinor }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0);
}

function refuseEncoding(url: string): AppError | undefined {
  try {
    if (!decodeURIComponent(url).includes('\0')) return undefined;
    return new ValidationError({ url: ['must not contain NUL characters'] });
  } catch {
    return new ValidationError({ url: ['is not well-formed percent-encoded UTF-8'] });
  }
}

/** The server's properties that this module uses. */
export interface RawServer {
  readonly headers: StandardHeaders;
  readonly log: LogRequest;
}

/** Refuses a request before Express sees it, and closes the connection. */
export function refuseUnrouted(request: Request, response: ServerResponse, error: AppError, log: LogRequest): void {
  response.setHeader('connection', 'close');
  sendRefusal(request, response, error);
  log({ requestId: request.id, method: request.method, route: undefined, status: statusOf(error), durationMs: 0 });
}

const refused = new WeakSet<Duplex>();

/**
 * For `clientError`: what Node's parser refuses gets the envelope like any other error. A response under way stays as it is:
 * the error then concerns a later request on the same connection.
 */
export function refuseUnparsed(error: Error & { code?: string }, socket: Duplex, server: RawServer): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const current = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
  if (current?.headersSent || current?.req.complete) {
    current.shouldKeepAlive = false;
    current.once('finish', () => socket.destroy());
    return;
  }
  const refusal = parserRefusal(error.code);
  if (current) current.statusCode = statusOf(refusal);
  writeToSocket(socket, refusal, server);
}

/** For the `connect` event: this is no proxy. */
export function refuseConnect(socket: Duplex, server: RawServer): void {
  writeToSocket(socket, new AppError('method_not_allowed', 'This service is no proxy'), server, [['allow', '']]);
}

const PARSER_REFUSALS: ReadonlyMap<string | undefined, () => AppError> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', () => new AppError('request_timeout', 'The request did not arrive in time')],
  ['HPE_HEADER_OVERFLOW', () => new AppError('headers_too_large', 'The request headers exceed the size limit')],
  [
    'HPE_CHUNK_EXTENSIONS_OVERFLOW',
    () => new AppError('payload_too_large', 'The chunk extensions exceed the size limit'),
  ],
  ['HPE_INVALID_METHOD', () => new ValidationError({ request: ['uses an unknown method'] })],
]);

function parserRefusal(code: string | undefined): AppError {
  return PARSER_REFUSALS.get(code)?.() ?? new ValidationError({ request: ['is not well-formed HTTP'] });
}

function writeToSocket(
  socket: Duplex,
  error: AppError,
  { headers, log }: RawServer,
  more: readonly (readonly [name: string, value: string])[] = [],
): void {
  const requestId = newRequestId();
  const status = statusOf(error);
  const body = errorBody(error);
  const fields = [
    ['date', new Date().toUTCString()],
    ['x-request-id', requestId],
    ...headers.fixed,
    ...headers.defaults,
    ...more,
    ['content-type', JSON_TYPE],
    ['content-length', Buffer.byteLength(body)],
    ['connection', 'close'],
  ];
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  log({ requestId, method: '', route: undefined, status, durationMs: 0 });
}
