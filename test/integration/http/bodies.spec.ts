import { once } from 'node:events';
import { connect } from 'node:net';
import { waitFor } from '../../setup/wait-for';
import { expectEnvelope } from './expect-envelope';
import { type HttpApp, slowRequests, startHttpApp } from './http-app';
import { exchange, post, RawClient, request } from './raw-client';

const MIB = 1024 * 1024;
const JSON_TYPE = 'Content-Type: application/json';

function typed(type: string, body: string, headers: string[] = []): string {
  return request('POST /v1/things', [`Content-Type: ${type}`, `Content-Length: ${body.length}`, ...headers], body);
}

describe('bodies', () => {
  let app: HttpApp;
  beforeAll(async () => {
    app = await startHttpApp();
  });
  afterAll(() => app.close());

  const send = (bytes: string | Buffer) => exchange(app.port, bytes);

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; charset=utf8',
  ])('takes %s', async (type) => {
    const response = await send(typed(type, '{"name":"x"}'));
    expect({ status: response.status, body: response.body }).toEqual({ status: 201, body: '{"data":{"name":"x"}}' });
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/problem+json',
    'application/jsonx',
    'json',
    'application/json, text/plain',
  ])('returns 415 for %s', async (type) => {
    expectEnvelope(await send(typed(type, '{"name":"x"}')), 415, 'unsupported_media_type');
  });

  it('refuses a body without a type, and a compressed one, with 415', async () => {
    expectEnvelope(await send(request('POST /v1/things', ['Content-Length: 2'], '{}')), 415, 'unsupported_media_type');
    const compressed = typed('application/json', '{}', ['Content-Encoding: gzip']);
    const refusal = await send(compressed);
    expectEnvelope(refusal, 415, 'unsupported_media_type');
    expect(JSON.parse(refusal.body)).toMatchObject({
      error: { suggestion: expect.stringContaining('Content-Encoding') },
    });
    for (const none of ['identity', '', ', identity,']) {
      const named = typed('application/json', '{"name":"x"}', [`Content-Encoding: ${none}`]);
      expect((await send(named)).status).toBe(201);
    }
    expect((await send(typed('application/json', '{}', ['Content-Encoding: identity, gzip']))).status).toBe(415);
  });

  it.each([
    ['an empty body', '', 'body'],
    ['null', 'null', 'body'],
    ['an array', '[]', 'body'],
    ['a string', '"x"', 'body'],
    ['broken JSON', '{"name":', 'body'],
    ['two values', '{} {}', 'body'],
    ['a trailing comma', '{"name":"x",}', 'body'],
    ['a comment', '{"name":"x"/**/}', 'body'],
    ['a raw line feed in a string', '{"name":"a\nb"}', 'body'],
    ['an escaped NUL', '{"name":"a\\u0000"}', 'name'],
    ['an unpaired surrogate', '{"name":"\\ud800"}', 'name'],
    ['a reversed pair', '{"name":"\\udc00\\ud800"}', 'name'],
    ['a NUL deep inside', '{"to":["x",{"email":"\\u0000"}]}', 'to[1].email'],
    ['a prototype key', '{"__proto__":{"a":1}}', 'body'],
    ['an escaped prototype key', '{"a":{"\\u005f_proto__":1}}', 'a'],
    ['a constructor key', '{"constructor":{"prototype":{}}}', 'body'],
    ['a number beyond all bounds', '{"name":1e400}', 'name'],
    ['a missing field', '{}', 'name'],
    ['an unknown field', '{"name":"x","y":1}', 'y'],
    ['depth', `${'['.repeat(33)}${']'.repeat(33)}`, 'body'],
    ['a bomb', '['.repeat(60_000), 'body'],
    ['many items', `[${'1,'.repeat(25_000)}1]`, 'body'],
  ])('returns 400 for %s, naming the field', async (_name, body, field) => {
    const error = expectEnvelope(await send(post('/v1/things', body)), 400, 'invalid_request');
    expect(error.message).toBe('Request validation failed');
    expect(Object.keys(error.details?.validation ?? {})).toEqual([field]);
  });

  it('refuses broken UTF-8 with 400', async () => {
    const bytes = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    expectEnvelope(await send(post('/v1/things', bytes)), 400, 'invalid_request');
    const utf16 = Buffer.from('\ufeff{"name":"x"}', 'utf16le');
    expectEnvelope(await send(post('/v1/things', utf16)), 400, 'invalid_request');
  });

  it('skips a byte order mark', async () => {
    expect((await send(post('/v1/things', '\ufeff{"name":"x"}'))).status).toBe(201);
  });

  it('puts chunks together, also inside a character', async () => {
    const client = await RawClient.connect(app.port);
    client.send(request('POST /v1/things', [JSON_TYPE, 'Transfer-Encoding: chunked']));
    for (const byte of Buffer.from('{"name":"ü€😀"}')) {
      client.send(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]));
    }
    expect((await client.send('0\r\n\r\n').next()).body).toBe('{"data":{"name":"ü€😀"}}');
    client.close();
  });

  it('reads all pieces of a body that is there when the key has been looked up', async () => {
    const chunks = '5\r\n{"nam\r\n5\r\ne":"a\r\n4\r\nbc"}\r\n0\r\n\r\n';
    const headers = [JSON_TYPE, 'Transfer-Encoding: chunked', 'Authorization: Bearer slow'];
    const client = await RawClient.connect(app.port);
    const arriving = request('POST /v1/things', headers, chunks);
    expect((await client.send(arriving).next()).body).toBe('{"data":{"name":"abc"}}');
    expect((await client.send(arriving).next()).body).toBe('{"data":{"name":"abc"}}');
    client.close();
  });

  it.each([
    ['no headers', request('POST /v1/things/1/verify')],
    ['a length of 0', request('POST /v1/things/1/verify', ['Content-Length: 0'])],
    ['a type and no body', request('POST /v1/things/1/verify', [JSON_TYPE, 'Content-Length: 0'])],
    ['another type and no body', request('POST /v1/things/1/verify', ['Content-Type: text/plain'])],
    ['no chunks', request('POST /v1/things/1/verify', [JSON_TYPE, 'Transfer-Encoding: chunked'], '0\r\n\r\n')],
  ])('a route that takes no body is content with %s', async (_name, bytes) => {
    expect(JSON.parse((await send(bytes)).body)).toEqual({ data: { id: '1', hasBody: false } });
  });

  it('ignores a body of GET', async () => {
    expect((await send(request('GET /v1/things', [JSON_TYPE, 'Content-Length: 3'], '{"a'))).status).toBe(200);
  });

  it('drops any body where the route demands it', async () => {
    const body = 'List-Unsubscribe=One-Click';
    const type = 'Content-Type: application/x-www-form-urlencoded';
    const response = await send(request('POST /v1/things/ignored', [type, `Content-Length: ${body.length}`], body));
    expect(response.body).toBe('{"data":"ignored"}');
  });

  it('shows nothing of the body without a key', async () => {
    expectEnvelope(await send(post('/v1/things', '{', ['Authorization: Bearer bad'])), 401, 'invalid_api_key');
  });
});

describe('body size', () => {
  let app: HttpApp;
  beforeAll(async () => {
    app = await startHttpApp({ maxHeldBodyBytes: 16 * MIB });
  });
  afterAll(() => app.close());

  it('refuses a declared length over 64 KiB with 413 before the body is sent', async () => {
    const bytes = request('POST /v1/things', [JSON_TYPE, `Content-Length: ${64 * 1024 + 1}`]);
    expectEnvelope(await exchange(app.port, bytes), 413, 'payload_too_large');
  });

  it('holds a large response until its client has read it, and refuses what is beyond the share', async () => {
    const get = request('GET /v1/things/large', ['Connection: close']);
    const unread = connect(app.port, '127.0.0.1', () => unread.write(get));
    await once(unread, 'readable');
    expectEnvelope(await exchange(app.port, get), 429, 'rate_limit_exceeded');
    unread.destroy();
    await waitFor(async () => (await exchange(app.port, get)).status === 200, { what: 'its share again' });
  });

  it('takes exactly 64 KiB', async () => {
    const body = `{"name":"${'a'.repeat(64 * 1024 - 11)}"}`;
    expect(body).toHaveLength(64 * 1024);
    expectEnvelope(await exchange(app.port, post('/v1/things', body)), 400, 'invalid_request');
  });

  it('refuses chunks that exceed it with 413, and disconnects a client that continues to send', async () => {
    const client = await RawClient.connect(app.port);
    client.send(request('POST /v1/things', [JSON_TYPE, 'Transfer-Encoding: chunked']));
    const chunk = `1000\r\n${'a'.repeat(4096)}\r\n`;
    for (let index = 0; index < 17; index += 1) client.send(chunk);
    expectEnvelope(await client.next(), 413, 'payload_too_large');
    expect(await client.send(chunk).untilClosed()).toBe('');
  });

  it.each([
    ['POST /v1/things', 413, 100_000],
    ['POST /unknown', 404, 1_000],
    ['GET /health', 200, 1_000],
  ])(
    'closes the connection of %s, whose response %i is there before its body, and runs nothing that follows',
    async (line, status, length) => {
      const before = app.lines.length;
      const client = connect({ port: app.port, host: '127.0.0.1', allowHalfOpen: true });
      client.write(request(line, [JSON_TYPE, `Content-Length: ${length}`], 'a'));
      let received = '';
      client.on('data', (bytes) => (received += bytes.toString('latin1')));
      await once(client, 'end');
      expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n`, 'i'));
      client.end('a'.repeat(length - 1) + request('GET /health'));
      await waitFor(() => app.connections.every(({ destroyed }) => destroyed), { what: 'the end of the connection' });
      expect(app.lines.slice(before).map((logged) => logged.status)).toEqual([status]);
    },
  );

  it.each(['Host: y', 'Expect: magic'])(
    'cuts off a client whose %s is refused and that does not send its body',
    async (header) => {
      const client = connect({ port: app.port, host: '127.0.0.1', allowHalfOpen: true });
      client.resume().write(request('POST /v1/things', [JSON_TYPE, header, 'Content-Length: 9'], 'a'));
      await once(client, 'end');
      // Less than the 30 s that a request may take.
      const end = { what: 'the end of the connection', timeoutMs: 20_000 };
      await waitFor(() => app.connections.every(({ destroyed }) => destroyed), end);
      client.destroy();
    },
  );

  it('keeps the connection whose refused body is there', async () => {
    const client = await RawClient.connect(app.port);
    client.send(post('/v1/things', '{"name":"x"}', ['Authorization: Bearer bad']));
    expect((await client.next()).status).toBe(401);
    expect((await client.send(request('GET /health')).next()).status).toBe(200);
    client.close();
  });

  it('lets a route raise it', async () => {
    const body = `{"a":"${'b'.repeat(5 * MIB)}"}`;
    const response = await exchange(app.port, post('/v1/things/batch', body));
    expect(JSON.parse(response.body)).toEqual({ data: { length: body.length } });
    const many = `[${'1,'.repeat(99_000)}1]`;
    expect((await exchange(app.port, post('/v1/things/batch', many))).status).toBe(202);
  });

  it('returns 429 when the large bodies of one client exceed its share of the budget, and releases that share', async () => {
    const response = await exchange(app.port, post('/v1/things/batch', `"${'b'.repeat(9 * MIB)}"`));
    expectEnvelope(response, 429, 'rate_limit_exceeded');
    expect(response.headers['retry-after']).toBe('1');
    expect((await exchange(app.port, post('/v1/things/batch', `"${'b'.repeat(7 * MIB)}"`))).status).toBe(202);
  });

  it('counts the body of a disconnected client until its request has ended', async () => {
    const large = `"${'b'.repeat(7 * MIB)}"`;
    const client = await RawClient.connect(app.port);
    client.send(post('/errors/slow', large));
    await waitFor(() => slowRequests.length === 1, { what: 'the handler' });
    client.close();
    await waitFor(() => app.lines.some(({ aborted }) => aborted === true), { what: 'the end of the connection' });
    expectEnvelope(await exchange(app.port, post('/v1/things/batch', large)), 429, 'rate_limit_exceeded');
    slowRequests.pop()?.();
    const isTaken = async () => (await exchange(app.port, post('/v1/things/batch', large))).status === 202;
    await waitFor(isTaken, { what: 'room' });
  });

  it('sends 100 Continue only when it wants the body', async () => {
    const expectation = [JSON_TYPE, 'Expect: 100-continue'];
    const client = await RawClient.connect(app.port);
    client.send(request('POST /v1/things', [...expectation, 'Content-Length: 12']));
    expect((await client.next()).status).toBe(100);
    expect((await client.send('{"name":"x"}').next()).status).toBe(201);
    client.close();
    const refused = request('POST /v1/things', [...expectation, 'Content-Length: 99999999']);
    expectEnvelope(await exchange(app.port, refused), 413, 'payload_too_large');
  });
});

describe('a caller without a key', () => {
  it('is refused before the body arrives', async () => {
    const app = await startHttpApp();
    const headers = [JSON_TYPE, 'Content-Length: 60000000', 'Authorization: Bearer bad'];
    expectEnvelope(await exchange(app.port, request('POST /v1/things/batch', headers)), 401, 'invalid_api_key');
    expect((await exchange(app.port, request('GET /v1/things', ['Authorization: Bearer x']))).status).toBe(200);
    await app.close();
  });

  it('leaves nothing behind on a connection whose requests are refused before their bodies are read', async () => {
    const app = await startHttpApp();
    const client = await RawClient.connect(app.port);
    const refused = post('/v1/things', '{"name":"x"}', ['Authorization: Bearer bad']);
    const answer = async () => expect((await client.send(refused).next()).status).toBe(401);
    await answer();
    const connection = app.connections.at(-1)!;
    const before = connection.listenerCount('close');
    for (let round = 0; round < 5; round += 1) await answer();
    expect(connection.listenerCount('close')).toBe(before);
    client.close();
    await app.close();
  });
});
