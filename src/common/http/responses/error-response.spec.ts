import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { BadRequestException, HttpException, ServiceUnavailableException } from '@nestjs/common';
import { DecryptionError, UnknownKeyError } from '../../encryption/encryption';
import { AppError } from '../../errors/app-error';
import { endWith, errorBody, ResponsePieces, statusOf, toAppError } from './error-response';

function httpError(status: number): Error {
  return Object.assign(new Error('details of the inside'), { status, statusCode: status, expose: status < 500 });
}

describe('toAppError', () => {
  it('leaves an AppError as it is', () => {
    const error = new AppError('payload_too_large', 'Too large');
    expect(toAppError(error)).toBe(error);
  });

  it.each([
    [400, 400, 'invalid_request'],
    [401, 401, 'invalid_api_key'],
    [403, 403, 'insufficient_permissions'],
    [404, 404, 'resource_not_found'],
    [405, 405, 'method_not_allowed'],
    [408, 408, 'request_timeout'],
    [413, 413, 'payload_too_large'],
    [414, 404, 'resource_not_found'],
    [415, 415, 'unsupported_media_type'],
    [418, 400, 'invalid_request'],
    [429, 429, 'rate_limit_exceeded'],
    [431, 431, 'headers_too_large'],
    [500, 500, 'internal_error'],
    [502, 500, 'internal_error'],
    [503, 503, 'service_unavailable'],
  ])('a framework error of %i becomes %i %s', (given, status, code) => {
    for (const error of [httpError(given), new HttpException('x', given)]) {
      const known = toAppError(error);
      expect({ status: statusOf(known), code: known.code }).toEqual({ status, code });
    }
  });

  it('makes a key that this process lacks a 503, whose cause is for the log', () => {
    const known = toAppError(new UnknownKeyError());
    expect({ status: statusOf(known), after: known.retryAfterSeconds }).toEqual({ status: 503, after: 30 });
    expect(errorBody(known)).not.toContain('key');
    expect((known.cause as Error).message).toContain('MASTER_KEY');
    const altered = toAppError(new DecryptionError('Altered, or encrypted for another context'));
    expect(statusOf(altered)).toBe(500);
  });

  it('shows the messages of a pipe', () => {
    expect(toAppError(new BadRequestException(['a', 'b'])).details).toEqual({ validation: { request: ['a', 'b'] } });
  });

  it('asks for a retry when it is unavailable', () => {
    expect(toAppError(new ServiceUnavailableException()).retryAfterSeconds).toBe(1);
  });

  it.each([
    ['an error', new Error('the inside')],
    ['an error with a status', Object.assign(new Error('the inside'), { statusCode: 400, status: 400 })],
    ['a string', 'the inside'],
    ['nothing', undefined],
    ['an object', { statusCode: 404, message: 'the inside' }],
  ])('tells nothing of %s', (_name, thrown) => {
    const known = toAppError(thrown);
    expect(statusOf(known)).toBe(500);
    expect(errorBody(known)).not.toContain('inside');
    expect(known.cause).toBe(thrown);
  });
});

describe('errorBody', () => {
  it('leaves out what is not there', () => {
    expect(errorBody(new AppError('internal_error', 'x'))).toBe('{"error":{"code":"internal_error","message":"x"}}');
  });
});

describe('endWith', () => {
  const pieces = Array.from({ length: 100 }, (_, byte) => Buffer.alloc(64 * 1024, byte));
  let server: Server;
  let onResponse: (response: ServerResponse) => void;
  beforeAll(async () => {
    server = createServer((_request, response) => {
      onResponse(response);
      endWith(response, new ResponsePieces(pieces));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close().closeAllConnections());
  const portOf = () => (server.address() as AddressInfo).port;

  it('writes a long body piece by piece, without the warning of a leak by the listeners that the server has already', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => void warnings.push(name);
    process.on('warning', note);
    // Those of the server and of its accounts.
    onResponse = (response) => {
      while (response.listenerCount('close') < 8) response.on('close', () => undefined);
    };
    const response = await fetch(`http://127.0.0.1:${portOf()}`);
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(pieces))).toBe(true);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('ends with a client that goes', async () => {
    let closed: Promise<ServerResponse> | undefined;
    onResponse = (response) => {
      closed = once(response, 'close').then(() => response);
    };
    const client = connect(portOf(), '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(client, 'data');
    client.destroy();
    expect((await closed)?.writableFinished).toBe(false);
  });
});
