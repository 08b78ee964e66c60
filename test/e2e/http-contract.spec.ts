import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { type Answer, ApiClient, eventTypes } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';

let database: TestDatabase;
let tenants: TenantFactory;
let acme: Tenant;
let other: Tenant;
let service: ServiceProcess;
let api: ApiClient;
let workFolder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  tenants = await TenantFactory.open(database.url);
  acme = await tenants.create('acme.example');
  other = await tenants.create('other.example');
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-contract-'));
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    WAYBILL_DATA_DIR: workFolder,
    TEST_RECIPIENTS_PER_DAY: '40',
    RATE_LIMITS: '{"stats":1000}',
  });
  api = new ApiClient(service.port, acme.liveKey);
});

afterAll(async () => {
  await service.stop();
  await tenants.close();
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

const EMAIL = { to: ['someone@example.com'], subject: 'Hello', text: 'Hello there' };

function expectError(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body.error?.code }).toEqual({ status, code });
  expect(typeof answer.body.error.message).toBe('string');
  expect(answer.headers.get('x-request-id')).toMatch(/^[\w.-]{1,128}$/);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-powered-by')).toBeNull();
}

describe('keys and scopes', () => {
  it('refuses callers without a usable key', async () => {
    expectError(await api.as(undefined).get('/v1/emails'), 401, 'invalid_api_key');
    expectError(await api.as('wb_live_nonsense').get('/v1/emails'), 401, 'invalid_api_key');
    expectError(await api.as(`${acme.liveKey.slice(0, -1)}_`).get('/v1/emails'), 401, 'invalid_api_key');
    expectError(await api.as(undefined).post('/v1/emails', EMAIL), 401, 'invalid_api_key');
  });

  it('names the missing scope, and counts the refusal', async () => {
    const reader = api.as(await acme.key('live', ['email:read']));
    const refused = await reader.post('/v1/emails', EMAIL);
    expectError(refused, 403, 'insufficient_permissions');
    expect(refused.body.error.message).toContain('email:send');
    expect(refused.body.error.details.required).toBe('email:send');
    expect(refused.headers.get('x-ratelimit-remaining')).not.toBeNull();
    expect(await reader.get('/v1/emails')).toMatchObject({ status: 200 });
  });

  it('makes, lists and revokes keys, never beyond the creator’s own scopes', async () => {
    const manager = api.as(await acme.key('live', ['key:manage', 'email:read']));
    const made = await manager.post('/v1/api-keys', { name: 'reader', mode: 'live', scopes: ['email:read'] });
    expect(made).toMatchObject({
      status: 201,
      body: { data: { name: 'reader', key: expect.stringMatching(/^wb_live_/) } },
    });
    const reader = api.as(made.body.data.key);
    expect(await reader.get('/v1/emails')).toMatchObject({ status: 200 });
    expectError(
      await manager.post('/v1/api-keys', { name: 'x', mode: 'live', scopes: ['email:send'] }),
      403,
      'insufficient_permissions',
    );
    const listed = await manager.get('/v1/api-keys');
    expect(listed.body.total).toBe(listed.body.data.length);
    expect(JSON.stringify(listed.body)).not.toContain(made.body.data.key);
    expect(await manager.delete(`/v1/api-keys/${made.body.data.id}`)).toMatchObject({
      status: 200,
      body: { data: { revoked: true } },
    });
    expectError(await reader.get('/v1/emails'), 401, 'revoked_api_key');
    expectError(await api.as(other.liveKey).delete(`/v1/api-keys/${made.body.data.id}`), 404, 'resource_not_found');
    expectError(await manager.post('/v1/api-keys', { name: '', mode: 'prod', scopes: [] }), 400, 'invalid_request');
    expectError(
      await manager.post('/v1/api-keys', { name: 'x', mode: 'live', scopes: ['email:read'], expiresAt: '2020-01-01' }),
      400,
      'invalid_request',
    );
  });

  it('binds a key to one domain', async () => {
    const bound = api.as(await acme.key('live', ['email:send', 'email:read'], acme.domainId));
    await bound.send({ from: 'a@acme.example' });
    expectError(await bound.post('/v1/emails', { ...EMAIL, from: 'a@other.example' }), 403, 'domain_not_allowed');
    const { body } = await bound.get('/v1/emails');
    expect(body.data.every((email: any) => email.domainId === acme.domainId)).toBe(true);
  });

  it('stops a suspended organization', async () => {
    const doomed = await tenants.create('doomed.example');
    await tenants.suspend(doomed.organizationId);
    expectError(await api.as(doomed.liveKey).get('/v1/emails'), 403, 'account_suspended');
  });
});

describe('tenancy', () => {
  it('treats another organization’s and the other mode’s ids like unknown ones', async () => {
    const id = await api.send();
    const unknown = '01a1fc15-2368-75e9-8438-f50a81d35c8f';
    for (const outsider of [api.as(other.liveKey), api.as(acme.testKey)]) {
      for (const path of ['', '/events', '/content']) {
        const foreign = await outsider.get(`/v1/emails/${id}${path}`);
        const missing = await outsider.get(`/v1/emails/${unknown}${path}`);
        expectError(foreign, 404, 'resource_not_found');
        expect(foreign.body).toEqual(missing.body);
      }
      expectError(await outsider.post(`/v1/emails/${id}/cancel`), 404, 'resource_not_found');
      expect(JSON.stringify((await outsider.get('/v1/emails?limit=100')).body)).not.toContain(id);
    }
    expectError(await api.get('/v1/emails/not-a-uuid'), 404, 'resource_not_found');
  });
});

describe('refusals', () => {
  it.each([
    ['GET', '/v1/nothing', 404, 'resource_not_found'],
    ['GET', '/V1/emails', 404, 'resource_not_found'],
    ['GET', '/v1/emails/', 404, 'resource_not_found'],
    ['PUT', '/v1/emails', 405, 'method_not_allowed'],
    ['DELETE', '/v1/emails/batch', 405, 'method_not_allowed'],
    ['GET', '/v1/emails/batch', 405, 'method_not_allowed'],
    ['DELETE', '/v1/suppressions/check', 405, 'method_not_allowed'],
    ['GET', '/v1/emails?page=0', 400, 'invalid_request'],
    ['GET', '/v1/emails?limit=101', 400, 'invalid_request'],
    ['GET', '/v1/emails?limit=1e1', 400, 'invalid_request'],
    ['GET', '/v1/emails?status=lost', 400, 'invalid_request'],
    ['GET', '/v1/emails?from=2026-11-20T10:00:00', 400, 'invalid_request'],
    ['GET', '/v1/emails?colour=red', 400, 'invalid_request'],
    ['GET', '/v1/emails?cursor=abc', 400, 'invalid_request'],
    ['GET', '/v1/emails?recipient=@example.com', 400, 'invalid_request'],
    ['GET', '/v1/emails?from=2026-11-28&to=2026-11-27', 400, 'invalid_request'],
    ['GET', '/v1/audit-log?from=2026-11-28&to=2026-11-28', 400, 'invalid_request'],
    ['GET', '/v1/emails?page=1&page=2', 400, 'invalid_request'],
    ['GET', '/v1/emails/%zz', 400, 'invalid_request'],
  ])('%s %s is %i %s', async (method, path, status, code) => {
    const answer = await api.call(method, path);
    expectError(answer, status, code);
    if (status === 405) expect(answer.headers.get('allow')).not.toBeNull();
  });

  it.each<[string, unknown, Record<string, string>, number, string]>([
    ['broken JSON', '{"to": [', {}, 400, 'invalid_request'],
    ['no JSON object', '[]', {}, 400, 'invalid_request'],
    ['a form', 'to=a', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    ['UTF-16', 'x', { 'content-type': 'application/json; charset=utf-16' }, 415, 'unsupported_media_type'],
    ['a NUL', '{"to":["a@example.com"],"subject":"a\\u0000b","text":"t"}', {}, 400, 'invalid_request'],
    ['a lone surrogate', '{"to":["a@example.com"],"subject":"a\\ud800b","text":"t"}', {}, 400, 'invalid_request'],
    ['a deep bomb', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, {}, 400, 'invalid_request'],
    [
      'a prototype key',
      '{"__proto__":{"x":1},"to":["a@example.com"],"subject":"s","text":"t"}',
      {},
      400,
      'invalid_request',
    ],
    ['an unknown field', { ...EMAIL, color: 'red' }, {}, 400, 'invalid_request'],
    ['a foreign domain', { ...EMAIL, from: 'a@unknown.example' }, {}, 422, 'domain_not_verified'],
    ['a long key', EMAIL, { 'x-idempotency-key': 'k'.repeat(256) }, 400, 'invalid_request'],
  ])('POST /v1/emails with %s', async (_name, body, headers, status, code) => {
    const answer = await api.post('/v1/emails', body, headers);
    expectError(answer, status, code);
    if (code === 'invalid_request') expect(answer.body.error.message).toBe('Request validation failed');
  });

  it('takes Idempotency-Key as another name of X-Idempotency-Key', async () => {
    const first = await api.post('/v1/emails', EMAIL, { 'idempotency-key': 'alias-1' });
    const again = await api.post('/v1/emails', EMAIL, { 'x-idempotency-key': 'alias-1' });
    expect([first.status, again.status, again.body.data.id]).toEqual([202, 202, first.body.data.id]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const both = { 'idempotency-key': 'alias-1', 'x-idempotency-key': 'alias-1' };
    expect((await api.post('/v1/emails', EMAIL, both)).body.data.id).toBe(first.body.data.id);
    const differing = { 'idempotency-key': 'alias-1', 'x-idempotency-key': 'alias-2' };
    expectError(await api.post('/v1/emails', EMAIL, differing), 400, 'invalid_request');
  });

  it('says that a stored refusal is replayed', async () => {
    const send = () =>
      api.post('/v1/emails', { ...EMAIL, from: 'a@unknown.example' }, { 'idempotency-key': 'refused' });
    const [first, again] = [await send(), await send()];
    expectError(first, 422, 'domain_not_verified');
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect([again.status, again.body]).toEqual([422, first.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('names every wrong field', async () => {
    const answer = await api.post('/v1/emails', { to: ['ok@example.com', 'bad'], subject: '', text: 't', tags: [''] });
    expect(Object.keys(answer.body.error.details.validation).sort()).toEqual(['subject', 'tags[0]', 'to[1]']);
  });

  it('refuses a batch as a whole only when it is none', async () => {
    for (const body of [[], {}, Array.from({ length: 101 }, () => EMAIL)]) {
      expectError(await api.post('/v1/emails/batch', body), 400, 'invalid_request');
    }
    const mixed = await api.post('/v1/emails/batch', [
      EMAIL,
      { ...EMAIL, subject: '' },
      { ...EMAIL, from: 'a@no.example' },
      7,
    ]);
    expect(mixed.status).toBe(202);
    expect(mixed.body.data.summary).toEqual({ total: 4, successful: 1, failed: 3 });
    expect(mixed.body.data.data.map((item: any) => item.code ?? item.status)).toEqual([
      'queued',
      'invalid_request',
      'domain_not_verified',
      'invalid_request',
    ]);
    expect(Object.keys(mixed.body.data.data[1].details.validation)).toEqual(['1.subject']);
  });
});

describe('input that no route declares', () => {
  it('is refused by name', async () => {
    const id = await api.send();
    for (const path of [`/v1/emails/${id}?foo=1`, '/v1/api-keys?foo=1']) {
      const answer = await api.get(path);
      expectError(answer, 400, 'invalid_request');
      expect(Object.keys(answer.body.error.details.validation)).toEqual(['foo']);
    }
    expectError(await api.post('/v1/emails?foo=1', EMAIL), 400, 'invalid_request');
    expectError(await api.post(`/v1/emails/${id}/cancel`, { foo: 1 }), 400, 'invalid_request');
    const nested = await api.post('/v1/emails', { ...EMAIL, to: [{ email: 'a@example.com', foo: 1 }] });
    expect(Object.keys(nested.body.error.details.validation)).toEqual(['to[0].foo']);
  });

  it('in one item of a batch does not sink the others', async () => {
    const body = `[${JSON.stringify(EMAIL)},{"to":["a@example.com"],"subject":"a\\u0000","text":"t"},{"constructor":1}]`;
    const answer = await api.post('/v1/emails/batch', body);
    expect(answer.body.data.summary).toEqual({ total: 3, successful: 1, failed: 2 });
    expect(Object.keys(answer.body.data.data[1].details.validation)).toEqual(['1.subject']);
  });
});

describe('keys of lesser standing', () => {
  it('manage only keys of their own kind', async () => {
    const tester = api.as(acme.testKey);
    expectError(
      await tester.post('/v1/api-keys', { name: 'x', mode: 'live', scopes: ['email:read'] }),
      403,
      'insufficient_permissions',
    );
    expect((await tester.get('/v1/api-keys')).body.data.every((key: any) => key.mode === 'test')).toBe(true);
    const mine = (await api.get('/v1/api-keys')).body.data.find(
      (key: any) => key.mode === 'live' && !key.domainId && !key.revokedAt,
    );
    expectError(await tester.delete(`/v1/api-keys/${mine.id}`), 404, 'resource_not_found');
    const bound = api.as(await acme.key('live', ['key:manage'], acme.domainId));
    expect((await bound.get('/v1/api-keys')).body.data.every((key: any) => key.domainId === acme.domainId)).toBe(true);
    expectError(await bound.delete(`/v1/api-keys/${mine.id}`), 404, 'resource_not_found');
  });
});

describe('idempotency', () => {
  it('accepts the key in the header or in the body', async () => {
    const first = await api.post('/v1/emails', EMAIL, { 'x-idempotency-key': 'either-way' });
    const second = await api.post('/v1/emails', { ...EMAIL, idempotencyKey: 'either-way' });
    expect(second.body).toEqual(first.body);
  });

  it('refuses two idempotency keys of one name, and fields of SMTP as headers', async () => {
    const headers = { authorization: `Bearer ${acme.liveKey}`, 'content-type': 'application/json' };
    for (const name of ['X-Idempotency-Key', 'Idempotency-Key']) {
      const twice = request({ port: service.port, method: 'POST', path: '/v1/emails', headers: { ...headers, [name]: ['a', 'b'] } }); // prettier-ignore
      twice.end(JSON.stringify(EMAIL));
      const [response] = (await once(twice, 'response')) as [IncomingMessage];
      const body = JSON.parse(Buffer.concat(await response.toArray()).toString()) as object;
      expect(response.statusCode).toBe(400);
      expect(body).toMatchObject({ error: { details: { validation: { [name]: [`${name} must be given once`] } } } });
    }
    const own = await api.post('/v1/emails', { ...EMAIL, headers: { 'X-Waybill-Category': 'bulk' } });
    expectError(own, 400, 'invalid_request');
  });

  it('makes twenty identical requests one email', async () => {
    const email = { ...EMAIL, to: ['idempotent@example.com'] };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.post('/v1/emails', email, { 'x-idempotency-key': 'race-1' })),
    );
    expect(new Set(answers.map((answer) => JSON.stringify([answer.status, answer.body]))).size).toBe(1);
    expect(answers[0]!.status).toBe(202);
    expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')).toHaveLength(19);
    const listed = await api.get('/v1/emails?recipient=IDEMPOTENT@example.com');
    expect(listed.body.pagination.total).toBe(1);
    const reordered = { text: EMAIL.text, to: ['idempotent@example.com'], subject: EMAIL.subject };
    expect(await api.post('/v1/emails', reordered, { 'x-idempotency-key': 'race-1' })).toMatchObject({
      body: answers[0]!.body,
    });
    expectError(
      await api.post('/v1/emails', { ...email, subject: 'x' }, { 'x-idempotency-key': 'race-1' }),
      422,
      'idempotency_key_reused',
    );
    expectError(
      await api.post('/v1/emails', { ...email, idempotencyKey: 'b' }, { 'x-idempotency-key': 'a' }),
      400,
      'invalid_request',
    );
  });
});

describe('test mode', () => {
  it('plays the receiving side by the same API', async () => {
    const test = api.as(acme.testKey);
    const at = (name: string) => test.send({ to: [`${name}@simulator.waybill.test`] });
    const [delivered, bounced, soft, complained, opened, suppressed] = await Promise.all(
      ['delivered', 'bounced+1', 'soft-bounced', 'complained', 'opened', 'suppressed'].map(at),
    );
    expect((await test.get('/v1/emails')).headers.get('x-test-mode')).toBe('true');
    expect(eventTypes(await test.waitForStatus(delivered!, 'delivered'))).toEqual([
      'queued',
      'sending',
      'sent',
      'delivered',
    ]);
    expect((await test.waitForStatus(bounced!, 'bounced')).events.at(-1)).toMatchObject({
      source: 'simulator',
      eventData: { bounceType: 'hard', code: 550 },
    });
    expect(eventTypes(await test.waitForStatus(complained!, 'delivered'))).toContain('spam_report');
    expect(eventTypes(await test.waitForStatus(opened!, 'delivered'))).toContain('opened');
    expect(eventTypes(await test.waitForStatus(suppressed!, 'failed'))).toEqual(['queued', 'sending', 'blocked']);
    const twice = await test.waitForStatus(soft!, 'delivered');
    expect(eventTypes(twice).filter((type) => type === 'deferred')).toHaveLength(2);
    expectError(
      await test.post('/v1/emails', { ...EMAIL, to: ['bounced+1@simulator.waybill.test'] }),
      422,
      'recipient_suppressed',
    );
    expect(await api.post('/v1/emails', { ...EMAIL, to: ['bounced+1@simulator.waybill.test'] })).toMatchObject({
      status: 202,
    });
  });

  it('counts recipients one by one against the limits', async () => {
    const limited = await tenants.create('limited.example');
    const test = api.as(limited.testKey);
    const many = (count: number) => ({
      ...EMAIL,
      to: Array.from({ length: count }, (_, index) => `r${index}@example.com`),
    });
    expect(await test.post('/v1/emails', many(39))).toMatchObject({ status: 202 });
    const over = await test.post('/v1/emails', many(2));
    expectError(over, 429, 'sending_limit_exceeded');
    expect(over.body.error.details).toMatchObject({
      limit: 40,
      used: 39,
      requested: 2,
      resetsAt: expect.stringMatching(/T00:00:00.000Z$/),
    });
    expect(await test.post('/v1/emails', many(1))).toMatchObject({ status: 202 });
  });
});

describe('rate limits', () => {
  it('are in every authenticated response, and end in 429', async () => {
    const hurried = await tenants.create('hurried.example');
    const client = api.as(await hurried.key('live', ['key:manage']));
    const startedMs = Date.now();
    const first = await client.post('/v1/api-keys', { name: 'x', mode: 'live', scopes: ['email:read'] });
    expect(Number(first.headers.get('x-ratelimit-limit'))).toBeGreaterThan(0);
    expect(Number(first.headers.get('x-ratelimit-reset'))).toBeGreaterThan(startedMs / 1_000 - 1);
    const refused = await waitFor(
      async () => {
        const answer = await client.post('/v1/api-keys', { name: 'x', mode: 'live', scopes: ['email:send'] });
        return answer.status === 429 ? answer : undefined;
      },
      { what: 'a 429' },
    );
    expectError(refused, 429, 'rate_limit_exceeded');
    expect(refused.body.error.message).toMatch(/\d+ seconds/);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
  });
});
