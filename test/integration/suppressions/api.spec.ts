import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { DAY } from '../../../src/common/clock';
import type { Answer, ApiClient } from '../../e2e/kit/api-client';
import { addSuppression, createTenant } from '../../factories/tenants';
import { DomainsApp, type Owner } from '../domains/domains-app';

let app: DomainsApp;
let acme: Owner;
beforeAll(async () => {
  app = await DomainsApp.start();
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
});

const PATH = '/v1/suppressions';
const pathOf = (email: string) => `${PATH}/${encodeURIComponent(email)}`;
const errorOf = ({ status, body }: Answer) => [status, body.error?.code];
/** What the table would hold for it; the factory wants a tenant and needs its id only. */
const put = (fields: Parameters<typeof addSuppression>[2], owner = acme) =>
  addSuppression(app.db, { organizationId: owner.organizationId } as never, fields);

async function add(email: string, reason = 'manual', { api } = acme): Promise<any> {
  const { status, body } = await api.post(PATH, { email, reason });
  expect(status).toBe(201);
  return body.data;
}

async function check(email: string, api: ApiClient = acme.api): Promise<any> {
  const { status, body } = await api.get(`${PATH}/check?email=${encodeURIComponent(email)}`);
  expect(status).toBe(200);
  return body.data;
}

async function list(query = '', api: ApiClient = acme.api): Promise<any> {
  const { status, body } = await api.get(`${PATH}${query}`);
  expect(status).toBe(200);
  return body;
}

describe('POST /v1/suppressions', () => {
  it('puts an address on the list', async () => {
    const answer = await acme.api.post(PATH, { email: 'Ada@BÜCHER.example', reason: 'manual', notes: 'asked us\n😀' });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      data: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        email: 'Ada@xn--bcher-kva.example',
        reason: 'manual',
        source: 'api',
        suppressedAt: app.clock.now().toISOString(),
        notes: 'asked us\n😀',
      },
    });
    expect((await list()).data).toEqual([answer.body.data]);
    expect(await check('ada@xn--bcher-kva.EXAMPLE')).toMatchObject({ suppressed: true, reason: 'manual' });
  });

  it('takes each reason once, whatever the case', async () => {
    await add('ada@x.example');
    const again = await acme.api.post(PATH, { email: 'ADA@x.example', reason: 'manual', notes: 'twice' });
    expect(errorOf(again)).toEqual([409, 'suppression_exists']);
    await add('ada@x.example', 'unsubscribe');
    expect((await list()).pagination.total).toBe(2);
  });

  it('blocks an address however its sigmas are written', async () => {
    const spellings = ['νικος.παππας@x.example', 'νικοσ.παππασ@x.example', 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example'];
    for (const listed of spellings) {
      await add(listed);
      for (const other of spellings) {
        expect(await check(other)).toMatchObject({ suppressed: true, reason: 'manual' });
        expect((await list(`?email=${encodeURIComponent(other)}`)).data).toHaveLength(1);
      }
      expect((await acme.api.delete(pathOf(spellings[2] ?? ''))).status).toBe(200);
      expect(await check(listed)).toMatchObject({ suppressed: false });
    }
  });

  it('lets one of two at once have it', async () => {
    const both = await Promise.all([0, 1].map(() => acme.api.post(PATH, { email: 'a@x.example', reason: 'manual' })));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect((await list()).pagination.total).toBe(1);
  });

  it('replaces an entry that has expired', async () => {
    const expiresAt = new Date(app.clock.now().getTime() + DAY);
    await put({ email: 'old@x.example', reason: 'manual', expiresAt });
    expect(errorOf(await acme.api.post(PATH, { email: 'old@x.example', reason: 'manual' }))[0]).toBe(409);
    app.clock.advance(DAY);
    const added = await add('old@x.example');
    expect((await list()).data).toEqual([added]);
    expect(added).not.toHaveProperty('expiresAt');
  });
});

describe('GET /v1/suppressions', () => {
  it('goes from entry to entry, with the same total, while others are added and deleted', async () => {
    // Three have the same time: their ids decide.
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await add(`${name}@x.example`);
      if (name > 'b') app.clock.advance(1);
    }
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { data, pagination } = await list(`?limit=2&reason=manual${cursor && `&cursor=${cursor}`}`);
      seen.push(...data.map(({ email }: any) => email));
      expect(pagination).toMatchObject({ total: 5, hasMore: pagination.nextCursor !== undefined });
      cursor = pagination.nextCursor;
      // The one that was read is deleted, and another moves all that follow.
      if (seen.length < 3) await acme.api.delete(pathOf(seen[0]!));
      if (seen.length < 3) await add('new@x.example');
    }
    expect(seen.map(([name]) => name)).toEqual(['e', 'd', 'c', 'b', 'a']);
    const other = Buffer.from('2026-01-01 x').toString('base64url');
    for (const cursor of ['x', other, '']) expect(errorOf(await acme.api.get(`${PATH}?cursor=${cursor}`))[0]).toBe(400);
  });

  it('goes through entries of one millisecond, which the database has made apart', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await put({ email: `${name}@x.example`, reason: 'hard_bounce' });
    await app.db.query(
      `update suppressions set suppressed_at = '2026-11-01T00:00:00.000Z'::timestamptz + ascii(email) * interval '1 microsecond'
       where organization_id = $1`,
      [acme.organizationId],
    );
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { data, pagination } = await list(`?limit=1${cursor && `&cursor=${cursor}`}`);
      seen.push(...data.map(({ email }: any) => email[0]));
      cursor = pagination.nextCursor;
    }
    expect(seen).toEqual(['d', 'c', 'b', 'a']);
  });

  it('pages through the newest first', async () => {
    for (const name of ['a', 'b', 'c']) {
      await add(`${name}@x.example`);
      app.clock.advance(1);
    }
    const emails = ({ data }: any) => data.map((entry: any) => entry.email);
    const all = await list();
    expect(emails(all)).toEqual(['c@x.example', 'b@x.example', 'a@x.example']);
    expect(all.pagination).toEqual({ total: 3, limit: 50, offset: 0, hasMore: false });
    const page = await list('?limit=1&offset=1');
    expect(emails(page)).toEqual(['b@x.example']);
    expect(page.pagination).toEqual({
      ...{ total: 3, limit: 1, offset: 1, hasMore: true, nextCursor: expect.any(String) },
    });
    expect((await list('?limit=1&offset=2')).pagination.hasMore).toBe(false);
    expect(await list('?offset=3')).toEqual({
      data: [],
      pagination: { total: 3, limit: 50, offset: 3, hasMore: false },
    });
  });

  it('filters by reason and by address', async () => {
    await add('a@x.example');
    await add('a@x.example', 'unsubscribe');
    await add('b@x.example');
    const counted = async (query: string) => (await list(query)).pagination.total;
    expect(await counted('?reason=manual')).toBe(2);
    expect(await counted('?email=A%40X.example')).toBe(2);
    expect(await counted('?email=a@x.example&reason=unsubscribe')).toBe(1);
    expect(await counted('?reason=blocklist')).toBe(0);
  });

  it('leaves out expired entries', async () => {
    const expiresAt = new Date(app.clock.now().getTime() + 14 * DAY);
    await put({ email: 'full@x.example', reason: 'soft_bounce', expiresAt });
    expect((await list()).data).toMatchObject([{ reason: 'soft_bounce', expiresAt: expiresAt.toISOString() }]);
    expect(await check('full@x.example')).toEqual({
      email: 'full@x.example',
      suppressed: true,
      reason: 'soft_bounce',
    });
    app.clock.advance(14 * DAY);
    expect(await list()).toMatchObject({ data: [], pagination: { total: 0 } });
    expect(await check('full@x.example')).toEqual({ email: 'full@x.example', suppressed: false });
    expect(errorOf(await acme.api.delete(pathOf('full@x.example')))).toEqual([404, 'resource_not_found']);
  });
});

describe('GET /v1/suppressions/check', () => {
  it('shows the strongest reason, and the list shows every entry', async () => {
    const weakestFirst = ['soft_bounce', 'unsubscribe', 'manual', 'blocklist', 'hard_bounce', 'spam_complaint'];
    for (const reason of weakestFirst) {
      await put({ email: 'ada@x.example', reason });
      expect(await check('ada@x.example')).toEqual({ email: 'ada@x.example', suppressed: true, reason });
    }
    expect((await list()).pagination.total).toBe(6);
  });

  it('leaves out the reason of an address that is not listed', async () => {
    expect(await check('Nobody@X.example')).toEqual({ email: 'Nobody@x.example', suppressed: false });
  });
});

describe('DELETE /v1/suppressions/{email}', () => {
  it('removes manual and unsubscribe entries together, and writes it down', async () => {
    const manual = await add('ada@x.example');
    const unsubscribe = await add('ada@x.example', 'unsubscribe');
    const { status, body } = await acme.api.delete(pathOf('ADA@x.example'));
    expect([status, body]).toEqual([200, { data: { email: 'ADA@x.example', removed: true } }]);
    expect(await check('ada@x.example')).toMatchObject({ suppressed: false });
    const record = (action: string, { id, reason }: any) => ({
      actor: acme.keyId,
      action: `suppression.${action}`,
      target_id: id,
      data: { mode: 'live', reason },
    });
    expect(await app.audit(acme.organizationId)).toEqual([
      record('added', manual),
      record('added', unsubscribe),
      record('removed', manual),
      record('removed', unsubscribe),
    ]);
    expect(errorOf(await acme.api.delete(pathOf('ada@x.example')))).toEqual([404, 'resource_not_found']);
  });

  it.each(['hard_bounce', 'spam_complaint', 'blocklist', 'soft_bounce'])('keeps all beside a %s', async (reason) => {
    await add('ada@x.example');
    await put({ email: 'ada@x.example', reason });
    const answer = await acme.api.delete(pathOf('ada@x.example'));
    expect(errorOf(answer)).toEqual([409, 'suppression_not_removable']);
    expect(answer.body.error).toMatchObject({ message: expect.stringContaining(reason), details: { reason } });
    expect((await list()).pagination.total).toBe(2);
  });

  it.each(["o'hara+a/b%2F?c#d&e=f@x.example", 'a%b@x.example', '~{}|^`$*!@x.example', 'jørn@bücher.example'])(
    'understands %s',
    async (email) => {
      await add(email);
      expect((await check(email)).suppressed).toBe(true);
      expect((await acme.api.delete(pathOf(email))).status).toBe(200);
      expect((await check(email)).suppressed).toBe(false);
    },
  );
});

describe('a list', () => {
  it('is of one organization and mode', async () => {
    await add('ada@x.example');
    const other = await app.owner('Other');
    const name = { name: 'test', mode: 'test', scopes: ALL_SCOPES } as const;
    const { key } = await app.get(ApiKeysService).create(acme.organizationId, name);
    for (const outsider of [other.api, acme.api.as(key)]) {
      expect(await list('', outsider)).toMatchObject({ data: [], pagination: { total: 0 } });
      expect(await check('ada@x.example', outsider)).toMatchObject({ suppressed: false });
      expect(errorOf(await outsider.delete(pathOf('ada@x.example')))).toEqual([404, 'resource_not_found']);
      await add('ada@x.example', 'manual', { ...acme, api: outsider });
    }
    expect((await list()).pagination.total).toBe(1);
  });

  it('is read and changed with scopes of its own', async () => {
    const reader = await acme.client(['suppression:read']);
    const manager = await acme.client(['suppression:manage']);
    expect((await manager.post(PATH, { email: 'a@x.example', reason: 'manual' })).status).toBe(201);
    for (const path of [PATH, `${PATH}/check?email=a@x.example`]) {
      expect((await reader.get(path)).status).toBe(200);
      expect(errorOf(await manager.get(path))).toEqual([403, 'insufficient_permissions']);
    }
    expect((await reader.delete(pathOf('a@x.example'))).body.error.details).toEqual({ required: 'suppression:manage' });
  });

  it('is not for a key of one domain, which may only check an address', async () => {
    await add('ada@x.example');
    const { domainId } = await createTenant(app.db);
    await app.db.query('update domains set organization_id = $1, is_default = false where id = $2', [
      acme.organizationId,
      domainId,
    ]);
    const bound = await acme.client(ALL_SCOPES, domainId);
    const entry = { email: 'b@x.example', reason: 'manual' };
    const calls = [bound.get(PATH), bound.post(PATH, entry), bound.post(`${PATH}/batch`, [entry])];
    for (const answer of await Promise.all([...calls, bound.delete(pathOf('ada@x.example'))])) {
      expect(errorOf(answer)).toEqual([403, 'domain_not_allowed']);
    }
    expect(await check('ada@x.example', bound)).toMatchObject({ suppressed: true, reason: 'manual' });
  });
});
