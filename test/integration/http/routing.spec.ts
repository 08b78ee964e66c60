import { expectEnvelope, expectStandardHeaders } from './expect-envelope';
import { type HttpApp, startHttpApp } from './http-app';
import { exchange, request } from './raw-client';

const ID = '0192f5d2-7b5a-7cc1-9f1e-2d5c0a5b1f00';

describe('routes', () => {
  let app: HttpApp;
  beforeAll(async () => {
    app = await startHttpApp();
  });
  afterAll(() => app.close());

  const get = (path: string, headers: string[] = []) => exchange(app.port, request(`GET ${path}`, headers));

  it.each([
    '/nothing',
    '/v1/things/',
    '/V1/things',
    '/v1//things',
    '//v1/things',
    '/v1/things/not-a-uuid',
    '/v1/things/by-address/',
    `/v1/things/by-address/${'a'.repeat(3_001)}`,
    '/v1/things/..%2f..%2fetc',
  ])('%s is 404', async (path) => {
    expectEnvelope(await get(path), 404, 'resource_not_found');
  });

  it.each([
    ['PUT', '/v1/things', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/things', 'GET, HEAD, POST'],
    ['TRACE', '/v1/things', 'GET, HEAD, POST'],
    ['PATCH', `/v1/things/${ID}?x=1`, 'DELETE, GET, HEAD'],
    ['GET', `/v1/things/${ID}/verify`, 'POST'],
    // A name is no id, whatever the method.
    ['GET', '/v1/things/batch', 'POST'],
    ['DELETE', '/v1/things/batch', 'POST'],
    ['PROPFIND', '/health', 'GET, HEAD'],
    ['DELETE', '/health', 'GET, HEAD'],
  ])('%s %s is 405 with Allow', async (method, path, allowed) => {
    const response = await exchange(app.port, request(`${method} ${path}`));
    expectEnvelope(response, 405, 'method_not_allowed');
    expect(response.headers.allow).toBe(allowed);
  });

  it('refuses a preflight and sends no CORS headers', async () => {
    const headers = ['Origin: https://elsewhere.example', 'Access-Control-Request-Method: POST'];
    const response = await exchange(app.port, request('OPTIONS /v1/things', headers));
    expectEnvelope(response, 405, 'method_not_allowed');
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('refuses unknown routes without reading their body', async () => {
    const headers = ['Content-Type: application/json', 'Content-Length: 1000000000'];
    expectEnvelope(await exchange(app.port, request('POST /nothing', headers, '{')), 404, 'resource_not_found');
  });

  it('serves HEAD where GET is, with its headers and no body', async () => {
    const response = await exchange(app.port, request('HEAD /v1/things'), true);
    expect(response).toMatchObject({ status: 200, body: '', headers: { 'content-length': '20' } });
    expectStandardHeaders(response);
  });

  it('returns errors of HEAD without a body', async () => {
    const response = await exchange(app.port, request('HEAD /nothing'), true);
    expect(response.status).toBe(404);
    expectStandardHeaders(response);
  });

  it('takes a percent-encoded address of the greatest length', async () => {
    const address = `${'ü'.repeat(32)}@${'d'.repeat(62)}.${'d'.repeat(62)}.${'d'.repeat(60)}.de`;
    const encoded = [...Buffer.from(address)].map((byte) => `%${byte.toString(16)}`).join('');
    const response = await get(`/v1/things/by-address/${encoded}`);
    expect(JSON.parse(response.body)).toEqual({ data: address });
  });

  it('returns ids in lower case', async () => {
    expect(JSON.parse((await get(`/v1/things/${ID.toUpperCase()}`)).body)).toEqual({ data: { id: ID } });
  });

  it.each([
    ['page=1e3', 'page'],
    ['page=0x10', 'page'],
    ['page=%201', 'page'],
    ['page=+1', 'page'],
    ['page=01', 'page'],
    ['page=1.0', 'page'],
    ['page=', 'page'],
    ['page=1001', 'page'],
    ['page=1&page=2', 'page'],
    ['page[]=1', 'page[]'],
    ['unknown=1', 'unknown'],
    ['__proto__=1', '__proto__'],
    ['constructor=1', 'constructor'],
    ['from=2026-11-20T10:00:00', 'from'],
    ['from=2026-02-30', 'from'],
  ])('query %s is refused by name', async (query, field) => {
    const error = expectEnvelope(await get(`/v1/things?${query}`), 400, 'invalid_request');
    expect(error.message).toBe('Request validation failed');
    expect(Object.keys(error.details?.validation ?? {})).toEqual([field]);
  });

  it('takes a good query', async () => {
    const response = await get('/v1/things?page=12&from=2026-11-20T10:00:00%2B02:00');
    expect(JSON.parse(response.body)).toEqual({ data: [], page: 12, from: '2026-11-20T08:00:00.000Z' });
  });

  it.each([
    ['a good one', 'abc-DEF_1.2', true],
    ['128 characters', 'a'.repeat(128), true],
    ['129 characters', 'a'.repeat(129), false],
    ['a blank', 'a b', false],
    ['markup', '<script>', false],
  ])('request id: %s', async (_name, given, kept) => {
    const response = await get('/health', [`X-Request-Id: ${given}`]);
    expect(response.headers['x-request-id'] === given).toBe(kept);
    expectStandardHeaders(response);
  });

  it('keeps the request id of an error, and makes its own of two', async () => {
    expect((await get('/nothing', ['X-Request-Id: mine'])).headers['x-request-id']).toBe('mine');
    expect((await get('/nothing', ['X-Request-Id: a', 'X-Request-Id: b'])).headers['x-request-id']).toMatch(/^[\w-]+$/);
  });

  it('logs the pattern of the route, and of a path without one what is not personal', async () => {
    app.lines.length = 0;
    await get('/v1/things/by-address/jane%40example.com?page=1', ['X-Request-Id: logged']);
    await get('/nothing/jane%40example.com');
    expect(app.lines).toMatchObject([
      { requestId: 'logged', method: 'GET', route: '/v1/things/by-address/:address', status: 200, organizationId: 'o' },
      { method: 'GET', route: undefined, path: '/nothing/…', status: 404 },
    ]);
    expect(JSON.stringify(app.lines)).not.toContain('jane');
  });
});

describe('Strict-Transport-Security', () => {
  it('is sent when clients come over https', async () => {
    const app = await startHttpApp({ strictTransport: true });
    const response = await exchange(app.port, request('GET /health'));
    expect(response.headers['strict-transport-security']).toBe('max-age=31536000');
    await app.close();
  });
});
