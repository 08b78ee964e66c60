import type { Answer } from '../../e2e/kit/api-client';
import { DomainsApp, type Owner } from '../domains/domains-app';

let app: DomainsApp;
let acme: Owner;
beforeAll(async () => {
  app = await DomainsApp.start();
  acme = await app.owner();
});
afterAll(() => app.close());

const PATH = '/v1/suppressions';
const ENTRY = { email: 'ada@x.example', reason: 'manual' };
const WITHOUT_REASON = { email: ENTRY.email };
const BAD_ADDRESSES = [
  '',
  'ada',
  'ada@',
  '@x.example',
  'a@b@x.example',
  'ada@localhost',
  'Ada <ada@x.example>',
  '<ada@x.example>',
  '"a b"@x.example',
  'a..b@x.example',
  'ada@x.example, b@x.example',
  ' ada@x.example',
  'ada@[127.0.0.1]',
  `${'a'.repeat(65)}@x.example`,
  `${'a'.repeat(60)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.example`,
  'a\u202eb@x.example',
  'a\r\nb@x.example',
];

function expectInvalid({ status, body }: Answer, field: string): void {
  expect([status, body.error]).toEqual([
    400,
    { code: 'invalid_request', message: 'Request validation failed', details: { validation: expect.anything() } },
  ]);
  expect(Object.keys(body.error.details.validation)).toEqual([field]);
}

describe('refused is', () => {
  it.each(BAD_ADDRESSES)('the address %j, everywhere', async (email) => {
    expectInvalid(await acme.api.post(PATH, { ...ENTRY, email }), 'email');
    expectInvalid(await acme.api.get(`${PATH}/check?email=${encodeURIComponent(email)}`), 'email');
    expectInvalid(await acme.api.get(`${PATH}?email=${encodeURIComponent(email)}`), 'email');
    const batch = await acme.api.post(`${PATH}/batch`, [{ ...ENTRY, email }]);
    expect(batch.body.data.data).toMatchObject([
      { index: 0, code: 'invalid_request', details: { validation: { '0.email': [expect.any(String)] } } },
    ]);
  });

  it.each(BAD_ADDRESSES.filter((email) => email !== ''))('the address %j, in a path', async (email) => {
    expectInvalid(await acme.api.delete(`${PATH}/${encodeURIComponent(email)}`), 'email');
  });

  it.each<[string, unknown, string]>([
    ['no object', 'ada@x.example', 'body'],
    ['no body', undefined, 'body'],
    ['no address', { reason: 'manual' }, 'email'],
    ['an address that is an object', { ...ENTRY, email: { email: 'ada@x.example' } }, 'email'],
    ['several addresses', { ...ENTRY, email: ['ada@x.example'] }, 'email'],
    ['no reason', WITHOUT_REASON, 'reason'],
    ['null for a reason', { ...ENTRY, reason: null }, 'reason'],
    ...['hard_bounce', 'soft_bounce', 'spam_complaint', 'blocklist', 'MANUAL', '', 7, ['manual']].map(
      (reason) => [`the reason ${JSON.stringify(reason)}`, { ...ENTRY, reason }, 'reason'] as [string, unknown, string],
    ),
    ['notes that are too long', { ...ENTRY, notes: '😀'.repeat(501) }, 'notes'],
    ['notes that are no text', { ...ENTRY, notes: {} }, 'notes'],
    ['NUL in the notes', { ...ENTRY, notes: 'a\0b' }, 'notes'],
    ['half a character in the notes', '{"email":"ada@x.example","reason":"manual","notes":"\\ud800"}', 'notes'],
    ['an unknown field', { ...ENTRY, expiresAt: '2030-01-01' }, 'expiresAt'],
  ])('an entry with %s', async (_name, body, field) => {
    const given = typeof body === 'string' && !body.startsWith('{') ? JSON.stringify(body) : body;
    expectInvalid(await acme.api.post(PATH, given), field);
  });

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?limit=1e1', 'limit'],
    ['?limit=1&limit=2', 'limit'],
    ['?offset=-1', 'offset'],
    ['?offset=10000001', 'offset'],
    ['?offset=99999999999999999999', 'offset'],
    ['?reason=nothing', 'reason'],
    ['?reason=manual&reason=manual', 'reason'],
    ['?email=a@x.example&email=b@x.example', 'email'],
    ['?email=%00', 'url'],
    ['?page=1', 'page'],
    ['/check', 'email'],
    ['/check?email=a@x.example&email=a@x.example', 'email'],
    ['/check?email=a@x.example&mode=test', 'mode'],
  ])('the query of %s', async (query, field) => {
    expectInvalid(await acme.api.get(`${PATH}${query}`), field);
  });

  it.each<[string, unknown]>([
    ['an empty batch', []],
    ['more than 1,000 entries', Array.from({ length: 1_001 }, () => ENTRY)],
    ['an object', ENTRY],
    ['no body', undefined],
  ])('%s', async (_name, body) => {
    expectInvalid(await acme.api.post(`${PATH}/batch`, body), 'body');
  });

  it('none of it with an effect', async () => {
    expect((await acme.api.get(PATH)).body.pagination.total).toBe(0);
    expect(await app.audit(acme.organizationId)).toEqual([]);
  });
});

it('takes notes of 500 characters, and null or nothing for none', async () => {
  const notes = '😀'.repeat(500);
  expect((await acme.api.post(PATH, { ...ENTRY, notes })).body.data).toMatchObject({ notes });
  for (const [email, none] of [
    ['b@x.example', null],
    ['c@x.example', ''],
  ]) {
    expect((await acme.api.post(PATH, { ...ENTRY, email, notes: none })).body.data).not.toHaveProperty('notes');
  }
});
