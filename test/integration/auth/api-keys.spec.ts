import { ApiKeysService, MAX_ACTIVE_KEYS, MAX_ENDED_KEYS, type NewApiKey } from '../../../src/auth/keys/api-keys.service';
import { DAY } from '../../../src/common/clock';
import { ALL_SCOPES, type Scope } from '../../../src/common/http/scopes';
import type { ApiClient } from '../../e2e/kit/api-client';
import { addDomain } from '../../factories/tenants';
import { DomainsApp, type Owner } from '../domains/domains-app';

/** What a key may hand on to the keys that it makes: at most what it has itself. */
describe('a key that makes keys', () => {
  let app: DomainsApp;
  let acme: Owner;
  beforeAll(async () => {
    app = await DomainsApp.start();
  });
  beforeEach(async () => {
    acme = await app.owner();
  });
  afterAll(() => app.close());

  const inDays = (days: number) => new Date(app.clock.now().getTime() + days * DAY);
  const wanted = { name: 'made', mode: 'live', scopes: ['email:read'] };

  async function keyWith(fields: Partial<NewApiKey>): Promise<ApiClient> {
    const full: NewApiKey = { name: 'maker', mode: 'live', scopes: ALL_SCOPES, ...fields };
    return acme.api.as((await app.get(ApiKeysService).create(acme.organizationId, full)).key);
  }

  async function expectRefused(maker: ApiClient, fields: object, code = 'insufficient_permissions'): Promise<string> {
    const before = (await acme.api.get('/v1/api-keys')).body.total;
    const { status, body } = await maker.post('/v1/api-keys', { ...wanted, ...fields });
    expect([status, body.error.code]).toEqual([403, code]);
    expect((await acme.api.get('/v1/api-keys')).body.total).toBe(before);
    return body.error.message as string;
  }

  it('makes none that lives longer than itself', async () => {
    const maker = await keyWith({ expiresAt: inDays(7) });
    const end = inDays(7).toISOString();
    for (const fields of [{}, { expiresAt: inDays(8).toISOString() }, { expiresAt: inDays(7.001).toISOString() }]) {
      expect(await expectRefused(maker, fields)).toContain(end);
    }
    for (const expiresAt of [end, inDays(1).toISOString()]) {
      const { status, body } = await maker.post('/v1/api-keys', { ...wanted, expiresAt });
      expect([status, body.data.expiresAt]).toEqual([201, expiresAt]);
    }
    expect((await acme.api.post('/v1/api-keys', wanted)).status).toBe(201);
  });

  it('makes none with another scope, in a wider mode, or for another domain', async () => {
    const [one, other] = [
      await addDomain(app.db, acme.organizationId, { domain: 'one.example' }),
      await addDomain(app.db, acme.organizationId, { domain: 'other.example' }),
    ];
    const narrow = await keyWith({ scopes: ['key:manage', 'email:read'] });
    for (const scope of ALL_SCOPES.filter((each) => !['key:manage', 'email:read'].includes(each))) {
      expect(await expectRefused(narrow, { scopes: ['email:read', scope] satisfies Scope[] })).toContain(scope);
    }
    const scopes = ['stats:read', 'email:read', 'email:send'] satisfies Scope[];
    const { body: refused } = await narrow.post('/v1/api-keys', { ...wanted, scopes });
    // `required` is one scope wherever it stands.
    expect(refused.error.details).toEqual({ required: 'stats:read', missing: ['stats:read', 'email:send'] });
    await expectRefused(await keyWith({ mode: 'test' }), {});
    const bound = await keyWith({ domainId: one });
    await expectRefused(bound, { domainId: other }, 'domain_not_allowed');
    const { body } = await bound.post('/v1/api-keys', wanted);
    expect(body.data.domainId).toBe(one);
  });

  it('makes so many and no more, at the same time too; those that are revoked or have expired do not count', async () => {
    const made = await app.get(ApiKeysService).create(acme.organizationId, {
      ...{ name: 'short', mode: 'test', scopes: ['email:read'] },
      expiresAt: inDays(1),
    });
    await app.db.query(
      `insert into api_keys (organization_id, id, name, mode, scopes, prefix, hash, expires_at, created_at)
       select organization_id, gen_random_uuid(), name, mode, scopes, prefix, sha256((number || id::text)::bytea),
         expires_at, created_at
       from api_keys, generate_series(1, $2) as number where id = $1`,
      [made.id, MAX_ACTIVE_KEYS - 4],
    );
    const answers = await Promise.all([1, 2, 3, 4].map(() => acme.api.post('/v1/api-keys', wanted)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409]);
    const refused = answers.find(({ status }) => status === 409)!;
    expect(refused.body.error).toMatchObject({
      code: 'api_key_limit_reached',
      message: `An organization has at most ${MAX_ACTIVE_KEYS} usable API keys`,
      suggestion: expect.stringContaining('Revoke'),
    });
    await acme.api.delete(`/v1/api-keys/${made.id}`);
    expect((await acme.api.post('/v1/api-keys', wanted)).status).toBe(201);
    expect((await acme.api.post('/v1/api-keys', wanted)).status).toBe(409);
    app.clock.advance(2 * DAY);
    expect((await acme.api.post('/v1/api-keys', wanted)).status).toBe(201);
    expect((await (await app.owner('Other')).api.post('/v1/api-keys', wanted)).status).toBe(201);
  });

  it('keeps of revoked and expired keys those that ended last, and every key of a session; other organizations keep theirs', async () => {
    const other = await app.owner('Ended');
    // Ten more than are kept, the lowest numbers first; every second one is revoked and would expire much later.
    for (const { organizationId } of [acme, other]) {
      await app.db.query(
        `insert into api_keys
           (organization_id, id, name, mode, scopes, prefix, hash, expires_at, revoked_at, created_at, session_only)
         select $1::uuid, gen_random_uuid(), 'ended ' || number, 'live', '{email:read}', 'wb', sha256(($1::text || number)::bytea),
           $2::timestamptz - (case when number % 2 = 0 then interval '-1 year' else $3::interval - number * interval '1 minute' end),
           case when number % 2 = 0 then $2::timestamptz - ($3::interval - number * interval '1 minute') end,
           $2::timestamptz - interval '2 days', number = 1
         from generate_series(1, $4) as number`,
        [organizationId, app.clock.now(), '1 day', MAX_ENDED_KEYS + 10],
      );
    }
    const made = await acme.api.post('/v1/api-keys', wanted);
    const endedOf = async ({ organizationId }: Owner): Promise<string[]> =>
      (
        await app.db.query<{ name: string }>(
          `select name from api_keys where organization_id = $1 and name like 'ended %' order by created_at, split_part(name, ' ', 2)::int`,
          [organizationId],
        )
      ).map(({ name }) => name);
    const kept = await endedOf(acme);
    expect([kept.length, ...kept.slice(0, 2)]).toEqual([MAX_ENDED_KEYS + 1, 'ended 1', 'ended 11']);
    expect(await endedOf(other)).toHaveLength(MAX_ENDED_KEYS + 10);
    const { body } = await acme.api.get('/v1/api-keys');
    expect(body.data.map(({ id }: { id: string }) => id)).toContain(made.body.data.id);
  });
});
