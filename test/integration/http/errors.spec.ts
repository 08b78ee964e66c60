import { UnavailableError } from '../../../src/common/errors/app-error';
import { waitFor } from '../../setup/wait-for';
import { expectEnvelope, expectStandardHeaders } from './expect-envelope';
import { type HttpApp, slowRequests, startHttpApp } from './http-app';
import { exchange, RawClient, request } from './raw-client';

describe('errors of handlers', () => {
  let app: HttpApp;
  beforeAll(async () => {
    app = await startHttpApp();
  });
  afterAll(() => app.close());

  const get = (path: string) => exchange(app.port, request(`GET ${path}`));

  it('returns a general text for an unexpected error, and logs the error', async () => {
    app.lines.length = 0;
    const response = await get('/errors/unknown');
    expectEnvelope(response, 500, 'internal_error');
    expect(response.body).not.toContain('secret');
    await waitFor(() => app.lines.length > 0, { what: 'the log line' });
    expect(app.lines).toMatchObject([
      { requestId: response.headers['x-request-id'], status: 500, err: { message: 'the secret inside' } },
    ]);
  });

  it('ignores the status of a thrown value that is no error', async () => {
    expectEnvelope(await get('/errors/value'), 500, 'internal_error');
  });

  it('returns an AppError with its code, suggestion and Retry-After', async () => {
    const response = await get('/errors/conflict');
    expect(expectEnvelope(response, 409, 'idempotency_in_progress')).toEqual({
      code: 'idempotency_in_progress',
      message: 'Still running',
      suggestion: 'Wait',
    });
    expect(response.headers['retry-after']).toBe('1');
  });

  it('lets a handler set its own policy and caching', async () => {
    const { headers, body } = await get('/errors/page');
    expect(body).toBe('<p>page</p>');
    expect(headers).toMatchObject({
      'content-security-policy': "default-src 'self'",
      'cache-control': 'max-age=60',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
  });

  it('lets the translator turn errors of lower layers into its own', async () => {
    const translated = await startHttpApp({ translateError: (error) => new UnavailableError('Away', error) });
    const response = await exchange(translated.port, request('GET /errors/unknown'));
    expectEnvelope(response, 503, 'service_unavailable');
    expect(response.headers['retry-after']).toBe('1');
    expect(translated.lines).toMatchObject([{ status: 503, err: { message: 'the secret inside' } }]);
    await translated.close();
  });

  it('logs a client that disconnects before the response', async () => {
    app.lines.length = 0;
    const client = await RawClient.connect(app.port);
    client.send(request('GET /errors/slow'));
    await waitFor(() => slowRequests.length > 0, { what: 'the slow request to run' });
    client.close();
    await waitFor(() => app.lines.length > 0, { what: 'the log line' });
    expect(app.lines).toMatchObject([{ route: '/errors/slow', aborted: true }]);
    slowRequests.pop()?.();
  });
});

describe('draining', () => {
  it('finishes what runs, refuses what is new, and keeps the probes', async () => {
    const app = await startHttpApp();
    const running = await RawClient.connect(app.port);
    running.send(request('GET /errors/slow'));
    await waitFor(() => slowRequests.length > 0, { what: 'the slow request to run' });
    const waiting = await RawClient.connect(app.port);
    app.draining.begin();
    expect(await app.draining.whenIdle(1)).toBe(false);

    const refused = await waiting.send(request('GET /v1/things')).next();
    expectEnvelope(refused, 503, 'service_unavailable');
    expect(refused.headers).toMatchObject({ 'retry-after': '1', connection: 'close' });
    expect(await waiting.untilClosed()).toBe('');
    const probe = await exchange(app.port, request('GET /health'));
    expect(probe.status).toBe(200);
    expectStandardHeaders(probe);

    slowRequests.pop()?.();
    expect((await running.next()).body).toBe('{"data":"slow"}');
    expect(await app.draining.whenIdle(5_000)).toBe(true);
    await app.close();
  });

  it('waits for no response whose client has gone, and begins none of those that were to follow it', async () => {
    const app = await startHttpApp();
    const client = await RawClient.connect(app.port);
    client.send(request('GET /errors/slow').repeat(3));
    await waitFor(() => slowRequests.length > 0, { what: 'the slow request to run' });
    client.close();
    expect(await app.draining.whenIdle(5_000)).toBe(true);
    await exchange(app.port, request('GET /health'));
    for (const end of slowRequests.splice(0)) end();
    await exchange(app.port, request('GET /health'));
    expect(slowRequests).toEqual([]);
    expect(app.lines).toMatchObject([{ route: '/errors/slow', aborted: true }, { status: 200 }, { status: 200 }]);
    await app.close();
  });
});
