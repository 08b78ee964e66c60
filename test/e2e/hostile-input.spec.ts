import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { ApiClient } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';
import { anyCharacter } from '../factories/any-character';

let database: TestDatabase;
let tenant: Tenant;
let service: ServiceProcess;
let api: ApiClient;
let workFolder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const tenants = await TenantFactory.open(database.url);
  tenant = await tenants.create();
  await tenants.close();
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-hostile-'));
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    WAYBILL_DATA_DIR: workFolder,
    WAYBILL_ROLES: 'api',
    RATE_LIMIT_ENABLED: 'false',
  });
  api = new ApiClient(service.port, tenant.liveKey);
});

afterAll(async () => {
  await service.stop();
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

const BASE = { to: ['a@example.com'], subject: 's', text: 't' };
const FIELDS = [
  'from',
  'to',
  'cc',
  'bcc',
  'replyTo',
  'subject',
  'html',
  'text',
  'headers',
  'attachments',
  'tags',
  'metadata',
];
const MORE = ['scheduledAt', 'expiresAt', 'tracking', 'category', 'idempotencyKey'];

/** Text that has broken parsers, databases or mail before. */
const nasty = fc.constantFrom(
  ...[
    '',
    ' ',
    '\t',
    '\r\n',
    '\u0000',
    '\ud800',
    '\u202e',
    '\ufeff',
    '"',
    "'",
    '\\',
    '{}',
    '{"a"}',
    '%00',
    '%zz',
    '../../etc/passwd',
  ],
  ...[
    'a@b',
    'a@[127.0.0.1]',
    '<a@b.example>',
    'a@b.example, c@d.example',
    'x\r\nBcc: y@z.example',
    '=?utf-8?q?=00?=',
    'é@é.é',
  ],
  ...[
    "'; drop table emails; --",
    '$1',
    '${7*7}',
    '1e400',
    '-0',
    '9'.repeat(400),
    '1970-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
  ],
);
const text = fc.oneof(
  nasty,
  fc.string({ unit: anyCharacter, maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { depthSize: 'small' },
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, true, false, [], {}),
  fc.array(text, { maxLength: 4 }),
  fc.dictionary(text, text, { maxKeys: 4 }),
  fc.jsonValue({ maxDepth: 6 }),
);

function expectAnswered(status: number, body: unknown): void {
  expect(status).toBeLessThan(500);
  if (status >= 400) expect(body).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
}

describe('whatever a client sends', () => {
  it('as a field of an email gets a response below 500', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom(...FIELDS, ...MORE), value, { minKeys: 1, maxKeys: 3 }),
        async (fields) => {
          const single = await api.post('/v1/emails', { ...BASE, ...fields });
          expectAnswered(single.status, single.body);
          const batch = await api.post('/v1/emails/batch', [BASE, { ...BASE, ...fields }]);
          expectAnswered(batch.status, batch.body);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('as a body gets a response below 500', async () => {
    const body = fc.oneof(
      text,
      fc.json(),
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    );
    await fc.assert(
      fc.asyncProperty(body, fc.constantFrom('/v1/emails', '/v1/emails/batch', '/v1/api-keys'), async (raw, path) => {
        const answer = await api.post(path, raw, { 'content-type': 'application/json' });
        expectAnswered(answer.status, answer.body);
      }),
      { numRuns: 300 },
    );
  });

  it('as a path, a query or a key gets a response below 500', async () => {
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.constantFrom('page', 'limit', 'status', 'tag', 'recipient', 'domain_id', 'from', 'to', 'cursor', 'x'),
        async (raw, name) => {
          const encoded = Buffer.from(raw).reduce((sum, byte) => `${sum}%${byte.toString(16).padStart(2, '0')}`, '');
          for (const path of [
            `/v1/emails?${name}=${encoded}`,
            `/v1/emails/${encoded}`,
            `/v1/emails/${encoded}/events`,
            `/${encoded}`,
          ]) {
            const answer = await api.get(path);
            expectAnswered(answer.status, answer.body);
          }
          const key = raw.replace(/[^\u0021-\u007e]/g, '') || 'k';
          const answer = await api.post('/v1/emails', BASE, { 'x-idempotency-key': key });
          expectAnswered(answer.status, answer.body);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('leaves the process alive and without an unforeseen error', () => {
    expect(service.exitCode).toBeNull();
    expect(service.lines.filter((line) => line.level === 'error' || line.level === 'fatal')).toEqual([]);
  });
});
