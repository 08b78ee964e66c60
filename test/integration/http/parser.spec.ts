import { waitFor } from '../../setup/wait-for';
import { expectEnvelope } from './expect-envelope';
import { type HttpApp, slowRequests, startHttpApp } from './http-app';
import { exchange, post, RawClient, request } from './raw-client';

/** What Node's HTTP parser refuses, and what it lets through but no server should. */
describe('malformed HTTP', () => {
  let app: HttpApp;
  beforeAll(async () => {
    app = await startHttpApp({ headersTimeoutMs: 1_500, requestTimeoutMs: 3_000, connectionsCheckingIntervalMs: 50 });
  });
  afterAll(() => app.close());

  it('refuses many slow clients one after the other', async () => {
    app.lines.length = 0;
    const byTurn: number[] = [];
    let ofThisTurn = 0;
    const push = app.lines.push.bind(app.lines);
    const log = jest.spyOn(app.lines, 'push').mockImplementation((...lines) => {
      if (ofThisTurn === 0) {
        setImmediate(() => {
          byTurn.push(ofThisTurn);
          ofThisTurn = 0;
        });
      }
      ofThisTurn += lines.length;
      return push(...lines);
    });
    const clients = await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(app.port)));
    for (const client of clients) client.send('GET / HTTP/1.1\r\n');
    await waitFor(() => app.lines.length >= clients.length, { what: 'all to be refused' });
    log.mockRestore();
    expect(app.lines).toMatchObject(clients.map(() => ({ status: 408 })));
    expect(Math.max(...byTurn)).toBeLessThanOrEqual(2);
    for (const client of clients) client.close();
  });

  const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];

  it.each([
    ['garbage', 'hello\r\n\r\n', 400, 'invalid_request'],
    ['an unknown method', request('FETCH /v1/things'), 400, 'invalid_request'],
    ['a lower-case method', request('get /v1/things'), 400, 'invalid_request'],
    ['an unknown version', 'GET /v1/things HTTP/9.9\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['a folded header', request('GET /v1/things', ['A: b', ' c']), 400, 'invalid_request'],
    ['a bare CR in a header', request('GET /v1/things', ['A: b\rc']), 400, 'invalid_request'],
    ['a NUL in a header', request('GET /v1/things', ['A: b\0c']), 400, 'invalid_request'],
    ['a blank before the colon', request('GET /v1/things', ['A : b']), 400, 'invalid_request'],
    [
      'length and chunks',
      request('POST /v1/things', ['Content-Length: 4', ...chunked], '0\r\n\r\n'),
      400,
      'invalid_request',
    ],
    [
      'two lengths',
      request('POST /v1/things', ['Content-Length: 4', 'Content-Length: 5'], 'xxxx'),
      400,
      'invalid_request',
    ],
    ['a negative length', request('POST /v1/things', ['Content-Length: -1']), 400, 'invalid_request'],
    ['an unknown transfer coding', request('POST /v1/things', ['Transfer-Encoding: magic']), 400, 'invalid_request'],
    ['a chunk that is none', request('POST /v1/things', chunked, 'zz\r\n'), 400, 'invalid_request'],
    [
      'endless chunk extensions',
      request('POST /v1/things', chunked, `1;${'a'.repeat(20_000)}`),
      413,
      'payload_too_large',
    ],
    ['headers over 16 kB', request('GET /v1/things', [`A: ${'a'.repeat(17_000)}`]), 431, 'headers_too_large'],
    ['a target over 16 kB', request(`GET /${'a'.repeat(17_000)}`), 431, 'headers_too_large'],
    ['150 headers', request('GET /v1/things', Array<string>(150).fill('A: b')), 431, 'headers_too_large'],
    ['no Host', 'GET /v1/things HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
    ['two Hosts', request('GET /v1/things', ['Host: y']), 400, 'invalid_request'],
    [
      'a transfer coding besides chunked',
      request('POST /v1/things', ['Transfer-Encoding: identity', 'Transfer-Encoding: chunked']),
      400,
      'invalid_request',
    ],
    [
      'chunks in HTTP/1.0',
      `POST /v1/things HTTP/1.0\r\nConnection: keep-alive\r\n${chunked.join('\r\n')}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      400,
      'invalid_request',
    ],
    ['an absolute target of another scheme', request('GET ftp://elsewhere.example/v1/things'), 400, 'invalid_request'],
    ['an absolute target with a user', request('GET http://user@elsewhere.example/health'), 400, 'invalid_request'],
    ['an absolute target without a host', request('GET http:///health'), 400, 'invalid_request'],
    ['an absolute target, and no Host', 'GET http://a.example/health HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
    ['a broken escape in an absolute target', request('GET http://a.example/%zz'), 400, 'invalid_request'],
    ['an asterisk target', request('OPTIONS *'), 400, 'invalid_request'],
    ['a target that is no path', request('GET v1/things'), 400, 'invalid_request'],
    [
      'an unknown expectation',
      request('POST /v1/things', ['Expect: magic', 'Content-Length: 2']),
      417,
      'expectation_failed',
    ],
    ['CONNECT', 'CONNECT elsewhere.example:25 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    ['a broken escape in the path', request('GET /v1/things/%zz'), 400, 'invalid_request'],
    ['half an escape', request('GET /v1/things/%4'), 400, 'invalid_request'],
    ['an overlong UTF-8 escape', request('GET /v1/things/%c0%af'), 400, 'invalid_request'],
    ['an escaped surrogate', request('GET /v1/things/%ed%a0%80'), 400, 'invalid_request'],
    ['an escaped NUL in the path', request('GET /v1/things/%00'), 400, 'invalid_request'],
    ['an escaped NUL in the query', request('GET /v1/things?page=%00'), 400, 'invalid_request'],
    ['a broken escape in the query', request('GET /v1/things?page=%f'), 400, 'invalid_request'],
  ])('%s gets the error envelope', async (_name, bytes, status, code) => {
    expectEnvelope(await exchange(app.port, bytes), status, code);
  });

  const fromBrowser = ['Accept: text/html,application/xhtml+xml,*/*;q=0.8'];

  it.each(['/u/abc%00', '/t/c/%zz', '/console/emails?q=%00', '/mailbox?q=%f'])(
    'shows a person who opens %s a page, and a program the envelope',
    async (path) => {
      const page = await exchange(app.port, request(`GET ${path}`, fromBrowser));
      expect(page).toMatchObject({ status: 400, headers: { 'content-type': 'text/html; charset=utf-8' } });
      expect(page.headers['content-security-policy']).toContain("default-src 'none'");
      expect(page.body).toContain('This address does not work');
      expectEnvelope(await exchange(app.port, request(`GET ${path}`)), 400, 'invalid_request');
      const program = request(`GET ${path}`, ['Accept: application/json, text/html;q=0.5']);
      expectEnvelope(await exchange(app.port, program), 400, 'invalid_request');
    },
  );

  it('has no pages for the API', async () => {
    expectEnvelope(await exchange(app.port, request('GET /v1/things/%00', fromBrowser)), 400, 'invalid_request');
  });

  it('closes the connection after a parser error', async () => {
    const client = await RawClient.connect(app.port);
    const response = await client.send('nonsense\r\n\r\n').next();
    expect(response.headers.connection).toBe('close');
    expect(await client.send(request('GET /health')).untilClosed()).toBe('');
  });

  it.each(['http://elsewhere.example/health', 'HTTPS://elsewhere.example:8443/health?a=b', 'http://[::1]:80/health'])(
    'takes the absolute target %s, as for a proxy (RFC 9112 section 3.2.2)',
    async (target) => {
      expect((await exchange(app.port, request(`GET ${target}`))).status).toBe(200);
    },
  );

  it('takes an absolute target without a path for the root, and logs no host', async () => {
    app.lines.length = 0;
    expectEnvelope(await exchange(app.port, request('GET http://elsewhere.example?a=b')), 404, 'resource_not_found');
    await waitFor(() => app.lines.length > 0, { what: 'the log line' });
    expect(app.lines[0]).toMatchObject({ status: 404, path: '/' });
  });

  it('takes an HTTP/1.0 request without Host', async () => {
    expect((await exchange(app.port, 'GET /health HTTP/1.0\r\n\r\n')).status).toBe(200);
  });

  it.each([
    ['headers that never end', 'GET /health HTTP/1.1\r\nHost: x\r\nA: '],
    [
      'a body that never ends',
      request('POST /v1/things', ['Content-Type: application/json', 'Content-Length: 9'], '{'),
    ],
  ])('returns 408 for %s', async (_name, bytes) => {
    expectEnvelope(await exchange(app.port, bytes), 408, 'request_timeout');
  });

  it('leaves a running request alone when the next one on its connection is broken', async () => {
    const client = await RawClient.connect(app.port);
    client.send(request('GET /errors/slow'));
    await waitFor(() => slowRequests.length > 0, { what: 'the slow request to run' });
    client.send('garbage\r\n\r\n');
    // By the time another connection has been served, the garbage has been read.
    await exchange(app.port, request('GET /health'));
    slowRequests.pop()?.();
    const response = await client.next();
    expect({ status: response.status, body: response.body }).toEqual({ status: 200, body: '{"data":"slow"}' });
    expect(await client.untilClosed()).toBe('');
  });

  it('lives on when clients vanish in the middle', async () => {
    for (const bytes of [
      'GET /hea',
      request('POST /v1/things', chunked, '5\r\nab'),
      post('/v1/things', '{').subarray(0, -1),
    ]) {
      const client = await RawClient.connect(app.port);
      client.send(bytes).close();
    }
    expect((await exchange(app.port, request('GET /health'))).status).toBe(200);
  });

  it('gives no client more connections than it leaves to the others, for whom idle ones give way', async () => {
    const limited = await startHttpApp({ maxConnections: 6 });
    const open = async (address: string): Promise<[client: RawClient, isServed: boolean]> => {
      const client = await RawClient.connect(limited.port, address);
      const response = client.send(request('GET /health')).next();
      return [client, await response.then(({ status }) => status === 200).catch(() => false)];
    };
    const clients: RawClient[] = [];
    const served = async (address: string) => {
      const [client, isServed] = await open(address);
      clients.push(client);
      return isServed;
    };
    const asked = [
      '127.0.0.1',
      '127.0.0.1',
      '127.0.0.1',
      '127.0.0.1',
      '127.0.0.2',
      '127.0.0.2',
      '127.0.0.3',
      '127.0.0.1',
    ];
    const answers: boolean[] = [];
    for (const address of asked) answers.push(await served(address));
    expect(answers).toEqual([true, true, true, false, true, true, true, false]);
    for (const client of clients) client.close();
    await waitFor(() => served('127.0.0.1'), { what: 'room for the first again' });
    for (const client of clients) client.close();
    await limited.close();
  });

  it('closes a connection after its number of requests', async () => {
    const limited = await startHttpApp({ maxRequestsPerSocket: 2 });
    const client = await RawClient.connect(limited.port);
    const get = request('GET /health');
    client.send(get + get + get);
    expect((await client.next()).headers.connection).toBe('keep-alive');
    expect((await client.next()).headers.connection).toBe('close');
    expect(await client.untilClosed()).toBe('');
    await limited.close();
  });
});
