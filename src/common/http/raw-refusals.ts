import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, ValidationError } from '../errors/app-error';
import type { LogRequest } from './access-log';
import { errorBody, statusOf } from './error-response';
import { newRequestId, requestIdOf } from './request-id';
import { rawHeaders } from './response-headers';

const MAX_HEADER_FIELDS = 100;
/** How long what a refused client still sends is read, so that it gets to see the answer before the connection breaks. */
const LINGER_MS = 1_000;

/** Why a request that Node's parser let through is refused before it is routed; undefined for nearly all. */
export function refuseRequest(request: IncomingMessage): AppError | undefined {
  const { rawHeaders: fields, url = '' } = request;
  if (fields.length > 2 * MAX_HEADER_FIELDS) {
    return new AppError('headers_too_large', 'The request has too many headers');
  }
  if (!hasOneHost(request)) return new ValidationError({ Host: ['must be given exactly once'] });
  if (url.charCodeAt(0) !== 0x2f) return new ValidationError({ url: ['must be a path'] });
  return url.includes('%') ? refuseEncoding(url) : undefined;
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

/** Answers a request that never reaches Fastify, and closes the connection. */
export function answerRaw(request: IncomingMessage, response: ServerResponse, error: AppError, log: LogRequest): void {
  const requestId = requestIdOf(request);
  const body = errorBody(error);
  response.writeHead(statusOf(error), {
    ...rawHeaders(requestId),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.end(body);
  log({ requestId, method: request.method ?? '', route: undefined, status: statusOf(error), durationMs: 0 });
}

const answered = new WeakSet<Duplex>();

/**
 * For `clientError`: what Node's parser refuses gets the envelope like any other error. A response that is already under
 * way is left alone: the error then concerns a later request on the same connection.
 */
export function answerParserError(error: Error & { code?: string }, socket: Duplex, log: LogRequest): void {
  if (answered.has(socket)) return;
  answered.add(socket);
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
  writeToSocket(socket, refusal, log);
}

/** For the `connect` event: this is no proxy. */
export function answerConnect(socket: Duplex, log: LogRequest): void {
  writeToSocket(socket, new AppError('method_not_allowed', 'This service is no proxy'), log, 'allow: \r\n');
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

function writeToSocket(socket: Duplex, error: AppError, log: LogRequest, extraHeaders = ''): void {
  const requestId = newRequestId();
  const status = statusOf(error);
  const body = errorBody(error);
  const headers = Object.entries(rawHeaders(requestId)).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on('error', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ndate: ${new Date().toUTCString()}\r\n${headers.join('')}${extraHeaders}` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  log({ requestId, method: '', route: undefined, status, durationMs: 0 });
}
