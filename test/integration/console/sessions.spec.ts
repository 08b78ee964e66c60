import { randomUUID } from 'node:crypto';
import { ApiKeysService, MAX_ACTIVE_KEYS } from '../../../src/auth/keys/api-keys.service';
import { ConsoleLinksService, type LinkTarget } from '../../../src/auth/console-sessions/console-links.service';
import { ConsoleSessionsService } from '../../../src/auth/console-sessions/console-sessions.service';
import { OperatorKeysService } from '../../../src/auth/keys/operator-keys.service';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/common/clock';
import { ALL_SCOPES, type Scope } from '../../../src/common/http/scopes';
import type { Mode } from '../../../src/common/tenant';
import { FakeClock } from '../../doubles/fake-clock';
import { createTenant, type Tenant } from '../../factories/tenants';
import { type Api, startApi } from '../../setup/api-context';
import { openTestDatabase, type OpenTestDatabase } from '../../setup/open-test-database';
import { Browser } from './browser';

describe('the console', () => {
  let db: OpenTestDatabase;
  let api: Api;
  let acme: Tenant;
  const clock = new FakeClock(new Date());
  beforeAll(async () => {
    db = await openTestDatabase();
    api = await startApi(db.url, { clock });
  });
  beforeEach(async () => {
    // A window of its own for the limit of each test.
    clock.advance(MINUTE);
    acme = await createTenant(db);
  });
  afterAll(async () => {
    await api.close();
    await db.drop();
  });

  const browser = () => new Browser(api.port);
  const newKey = (fields: { mode?: Mode; scopes?: Scope[]; expiresAt?: Date } = {}) =>
    api
      .get(ApiKeysService)
      .create(acme.organizationId, { name: 'of a person', mode: 'live', scopes: ALL_SCOPES, ...fields });

  const addKeys = (organizationId: string, count: number, { sessionOnly }: { sessionOnly: boolean }) =>
    db.query(
      `insert into api_keys (organization_id, id, name, mode, scopes, prefix, hash, session_only, expires_at)
       select $1::uuid, gen_random_uuid(), 'x', 'live', '{}', 'x', sha256(($1::text || n)::bytea), $3, 'infinity'
       from generate_series(1, $2::int) n`,
      [organizationId, count, sessionOnly],
    );
  const linkFor = async (target: LinkTarget) => (await api.get(ConsoleLinksService).create(target)).path.split('=')[1]!;

  async function signedIn(key: string): Promise<Browser> {
    const visitor = browser();
    expect((await visitor.signIn({ key })).status).toBe(201);
    return visitor;
  }

  it('exchanges a key for a cookie that no script and no other site can use', async () => {
    const { id, key, prefix } = await newKey({ mode: 'test', scopes: ['email:read', 'domain:manage'] });
    const visitor = browser();
    const answer = await visitor.signIn({ key });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^waybill=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect(JSON.stringify([answer.body, [...answer.headers]])).not.toContain(key);
    expect(answer.body.data).toMatchObject({
      kind: 'tenant',
      organization: { id: acme.organizationId, name: acme.domain },
      key: { id, prefix, mode: 'test', scopes: ['email:read', 'domain:manage', 'domain:read'] },
      service: { deliveryMode: 'local', simulatorDomain: 'simulator.waybill.test' },
    });
    expect((await visitor.call('GET', '/console/session')).body).toEqual(answer.body);
    const stored = await db.query<{ hash: Buffer }>('select hash from console_sessions');
    expect(stored.map(({ hash }) => hash.toString('latin1')).join()).not.toContain(visitor.cookie!.slice(8));
  });

  it('has the rights of the key, no more, and counts against its limits', async () => {
    const visitor = await signedIn((await newKey({ scopes: ['email:read'] })).key);
    const answer = await visitor.emails();
    expect([answer.status, answer.body.data]).toEqual([200, []]);
    expect(answer.headers.get('x-ratelimit-limit')).toBe('1000');
    expect((await visitor.call('GET', '/v1/domains')).body.error).toMatchObject({ code: 'insufficient_permissions' });
  });

  it('takes no write without its header, and never prefers the cookie to a key', async () => {
    const visitor = await signedIn((await newKey()).key);
    const bare = { 'x-waybill-console': '' };
    const write = (headers: Record<string, string>) =>
      visitor.call('POST', '/v1/suppressions', { email: 'a@x.example', reason: 'manual' }, headers);
    expect((await write(bare)).body.error).toMatchObject({ code: 'insufficient_permissions' });
    expect((await visitor.call('GET', '/v1/emails', undefined, bare)).status).toBe(200);
    expect((await write({ authorization: 'Bearer wb_live_x' })).status).toBe(401);
    expect((await write({})).status).toBe(201);
    for (const method of ['POST', 'DELETE']) {
      expect((await visitor.call(method, '/console/session', {}, bare)).status).toBe(403);
    }
  });

  it('is made without the header for who has no cookie, but not for a page of another origin', async () => {
    const { key } = await newKey();
    const signIn = async (headers: Record<string, string>) =>
      (await browser().call('POST', '/console/session', { key }, { 'x-waybill-console': '', ...headers })).status;
    expect(await signIn({})).toBe(201);
    expect(await signIn({ 'sec-fetch-site': 'same-origin' })).toBe(201);
    expect(await signIn({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await signIn({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await signIn({ origin: 'https://evil.example' })).toBe(403);
  });

  it('ends with its key, at once where the key is revoked', async () => {
    const { id, key } = await newKey();
    const visitor = await signedIn(key);
    await api.get(ApiKeysService).revokeAnywhere(id);
    expect((await visitor.emails()).body.error).toMatchObject({ code: 'revoked_api_key' });
    const brief = await newKey({ expiresAt: new Date(clock.now().getTime() + HOUR) });
    const other = await signedIn(brief.key);
    clock.advance(HOUR + SECOND);
    expect((await other.emails()).status).toBe(401);
  });

  it('ends after 12 hours', async () => {
    const visitor = await signedIn((await newKey()).key);
    clock.advance(12 * HOUR - MINUTE);
    expect((await visitor.emails()).status).toBe(200);
    clock.advance(MINUTE);
    expect((await visitor.emails()).body.error).toMatchObject({ code: 'invalid_api_key' });
  });

  it('has a new id after each sign-in, and ends the one before', async () => {
    const { key } = await newKey();
    const visitor = await signedIn(key);
    const before = visitor.cookie!;
    await visitor.signIn({ key });
    expect(visitor.cookie).not.toBe(before);
    const planted = browser();
    planted.cookie = before;
    clock.advance(3 * SECOND);
    expect((await planted.emails()).status).toBe(401);
    expect((await visitor.emails()).status).toBe(200);
    planted.cookie = `waybill=${'x'.repeat(43)}`;
    await planted.signIn({ key });
    expect(planted.cookie).not.toContain('x'.repeat(43));
  });

  it('signs out here, or everywhere', async () => {
    const { key } = await newKey();
    const [one, two, three] = [await signedIn(key), await signedIn(key), await signedIn(key)];
    const stolen = browser();
    stolen.cookie = one.cookie;
    expect((await one.call('DELETE', '/console/session')).status).toBe(200);
    expect(one.cookie).toBeUndefined();
    expect((await stolen.emails()).status).toBe(401);
    expect((await two.emails()).status).toBe(200);
    await two.call('DELETE', '/console/session?everywhere=true');
    expect((await three.emails()).status).toBe(401);
    expect((await three.call('DELETE', '/console/session')).status).toBe(200);
    const actions = () =>
      db.query<{ action: string; data: object }>(
        `select action, data from audit_log where organization_id = $1 and action like 'console.%' order by id`,
        [acme.organizationId],
      );
    expect(await actions()).toEqual([
      ...Array.from({ length: 3 }, () => ({ action: 'console.signed_in', data: { mode: 'live' } })),
      { action: 'console.signed_out', data: { sessions: 1 } },
      { action: 'console.signed_out', data: { sessions: 2 } },
    ]);
  });

  it('keeps the newest twenty sessions of a key', async () => {
    const { key } = await newKey();
    const sessions = api.get(ConsoleSessionsService);
    for (let count = 0; count < 22; count += 1) {
      clock.advance(1);
      await sessions.signIn(key, () => undefined);
    }
    const left = await db.query('select 1 from console_sessions where organization_id = $1', [acme.organizationId]);
    expect(left).toHaveLength(20);
  });

  it('signs in by a link, once, within 15 minutes', async () => {
    const linkOf = () => linkFor({ organizationId: acme.organizationId, mode: 'test' });
    const link = await linkOf();
    const visitors = [browser(), browser(), browser()];
    const answers = await Promise.all(visitors.map((visitor) => visitor.signIn({ link })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401]);
    const visitor = visitors[answers.findIndex(({ status }) => status === 201)]!;
    expect((await visitor.emails()).headers.get('x-test-mode')).toBe('true');
    const { data: keys } = (await visitor.call('GET', '/v1/api-keys')).body;
    expect(keys).toMatchObject([{ name: 'Console, by a sign-in link', mode: 'test' }]);
    await visitor.call('DELETE', `/v1/api-keys/${keys[0].id}`);
    expect((await visitor.emails()).status).toBe(401);
    const late = await linkOf();
    clock.advance(15 * MINUTE);
    expect((await browser().signIn({ link: late })).body.error).toMatchObject({ code: 'invalid_api_key' });
  });

  describe('opened by a link', () => {
    const byLink = async (target: LinkTarget, visitor = browser()) => {
      expect((await visitor.signIn({ link: await linkFor(target) })).status).toBe(201);
      return visitor;
    };
    const acmeLive = (): LinkTarget => ({ organizationId: acme.organizationId, mode: 'live' });
    /** Usable keys that were made for sessions. */
    const sessionKeys = async (table = 'api_keys') => {
      const usable = `session_only and revoked_at is null and expires_at > $1`;
      return db.query<{ id: string }>(`select id from ${table} where ${usable}`, [clock.now()]);
    };
    const listed = (visitor: Browser) => visitor.call('GET', '/v1/api-keys');
    beforeEach(async () => {
      for (const table of ['api_keys', 'operator_keys']) await db.query(`delete from ${table} where session_only`);
    });

    it('leaves no key behind: a sign-out ends it, and so does the next sign-in of the browser', async () => {
      const visitor = await byLink(acmeLive());
      await byLink(acmeLive(), visitor);
      const own = (await sessionKeys()).map(({ id }) => id);
      expect(own).toHaveLength(1);
      expect((await listed(visitor)).body.data).toMatchObject([{ id: own[0] }]);
      const stolen = browser();
      stolen.cookie = visitor.cookie;
      await visitor.call('DELETE', '/console/session');
      expect(await sessionKeys()).toEqual([]);
      expect((await stolen.emails()).status).toBe(401);
      const actions = await db.query<{ action: string }>(
        `select action from audit_log where target_id = $1 order by id`,
        own,
      );
      expect(actions.map(({ action }) => action)).toEqual([
        ...['api_key.created', 'console.signed_in', 'api_key.revoked', 'console.signed_out'],
      ]);
      await visitor.signIn({ key: (await newKey({ scopes: ['key:manage'] })).key });
      expect((await listed(visitor)).body.data).toMatchObject([{ name: 'of a person' }]);
      await visitor.call('DELETE', '/console/session');
      expect((await api.get(ApiKeysService).list(acme.organizationId))[0]?.revokedAt).toBeNull();
    });

    it('ends everywhere with all that links have opened for the same mail, and with nothing else', async () => {
      const target = acmeLive();
      const [one, two] = [await byLink(target), await byLink(target)];
      const other = await byLink({ organizationId: (await createTenant(db)).organizationId, mode: 'live' });
      const test = await byLink({ organizationId: acme.organizationId, mode: 'test' });
      const byKey = await signedIn((await newKey()).key);
      await one.call('DELETE', '/console/session?everywhere=true');
      expect((await two.emails()).status).toBe(401);
      for (const visitor of [other, test, byKey]) expect((await visitor.emails()).status).toBe(200);
      expect(await sessionKeys()).toHaveLength(2);
    });

    it('expires with its key', async () => {
      const visitor = await byLink(acmeLive());
      clock.advance(12 * HOUR);
      expect((await visitor.emails()).status).toBe(401);
      expect(await sessionKeys()).toEqual([]);
      const next = await byLink(acmeLive());
      expect((await listed(next)).body.total).toBe(1);
    });

    it("does not count among the organization's keys, however many there are", async () => {
      for (let count = 0; count < 20; count += 1) await linkFor(acmeLive());
      expect(await sessionKeys()).toEqual([]);
      await addKeys(acme.organizationId, MAX_ACTIVE_KEYS, { sessionOnly: false });
      const visitor = await byLink(acmeLive());
      expect((await visitor.emails()).status).toBe(200);
      await expect(newKey()).rejects.toMatchObject({ code: 'api_key_limit_reached' });
      const { organizationId } = await createTenant(db);
      await addKeys(organizationId, MAX_ACTIVE_KEYS, { sessionOnly: true });
      await api.get(ApiKeysService).create(organizationId, { name: 'own', mode: 'live', scopes: ['email:read'] });
    });

    it('can make a key that lasts longer than itself, as the person who has the link may', async () => {
      const visitor = await byLink(acmeLive());
      const wanted = { name: 'Shop', mode: 'live', scopes: ['email:send'] };
      const made = await visitor.call('POST', '/v1/api-keys', wanted);
      expect([made.status, made.body.data.expiresAt]).toEqual([201, undefined]);
      await visitor.call('DELETE', '/console/session');
      expect((await browser().signIn({ key: made.body.data.key })).status).toBe(201);
    });

    it('makes no key that lasts where it opens nothing: for an organization that is suspended', async () => {
      const { organizationId } = await createTenant(db);
      const link = await linkFor({ organizationId, mode: 'live' });
      await db.query(`update organizations set status = 'suspended' where id = $1`, [organizationId]);
      expect((await browser().signIn({ link })).body.error).toMatchObject({ code: 'account_suspended' });
      expect(await sessionKeys()).toEqual([]);
      // It has opened nothing, and does once the organization may send again.
      await db.query(`update organizations set status = 'active' where id = $1`, [organizationId]);
      expect((await browser().signIn({ link })).status).toBe(201);
      expect((await browser().signIn({ link })).body.error).toMatchObject({ code: 'invalid_api_key' });
    });

    it("ends an operator's key likewise", async () => {
      const [one, two] = [await byLink('operator'), await byLink('operator')];
      const keys = api.get(OperatorKeysService);
      const names = async () => (await keys.list()).filter(({ sessionOnly }) => sessionOnly);
      expect(await names()).toHaveLength(2);
      await one.call('DELETE', '/console/session');
      expect([await names(), await sessionKeys('operator_keys')]).toMatchObject([{ length: 1 }, { length: 1 }]);
      const three = await byLink('operator');
      await two.call('DELETE', '/console/session?everywhere=true');
      expect((await three.call('GET', '/operator/v1/overview')).status).toBe(401);
      expect(await names()).toEqual([]);
    });
  });

  it('refuses what is no credential, and bounds the guessing per address', async () => {
    const visitor = browser();
    for (const body of [{}, { key: 'a', link: 'b' }, { key: 1 }, { token: 'x' }]) {
      expect((await visitor.signIn(body)).body.error).toMatchObject({ code: 'invalid_request' });
    }
    expect((await visitor.call('GET', '/console/session')).body).toEqual({ data: null });
    const answers = await Promise.all(Array.from({ length: 20 }, () => visitor.signIn({ key: 'wb_live_guess' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    const { key } = await newKey();
    expect((await visitor.signIn({ key })).status).toBe(429);
    clock.advance(MINUTE);
    expect((await visitor.signIn({ key })).status).toBe(201);
  });

  it('bounds the sign-ins of a key from whatever addresses, and leaves other keys alone', async () => {
    const visitor = browser();
    const { key } = await newKey();
    clock.advance(HOUR - (clock.now().getTime() % HOUR));
    for (let n = 0; n < 60; n += 1) {
      expect((await visitor.signIn({ key })).status).toBe(201);
      // So that the limit of the address is not the one that is reached.
      if (n % 10 === 9) clock.advance(MINUTE);
    }
    const { status, body } = await visitor.signIn({ key });
    expect([status, body.error.details]).toEqual([429, { limit: 60, scope: 'sign-ins' }]);
    expect((await visitor.emails()).status).toBe(200);
    await signedIn((await newKey()).key);
    clock.advance(HOUR);
    expect((await visitor.signIn({ key })).status).toBe(201);
  });

  it("opens the operator's routes, and no others, with an operator's key or link", async () => {
    const keys = api.get(OperatorKeysService);
    const { id, key } = await keys.create({ name: 'on call', scopes: ['operator:read'] });
    const visitor = browser();
    const { body } = await visitor.signIn({ key });
    expect(body.data).toMatchObject({ kind: 'operator', key: { id, name: 'on call', scopes: ['operator:read'] } });
    expect(body.data).not.toHaveProperty('organization');
    const overview = await visitor.call('GET', '/operator/v1/overview');
    expect([overview.status, overview.headers.get('x-ratelimit-limit')]).toEqual([200, '600']);
    expect((await visitor.emails()).status).toBe(403);
    const create = () => visitor.call('POST', '/operator/v1/organizations', { name: 'new' });
    expect((await create()).body.error.code).toBe('insufficient_permissions');
    await visitor.signIn({ link: await linkFor('operator') });
    const { body: links } = await visitor.call('GET', '/operator/v1/audit?action=console.link_created&limit=1');
    expect(links.data).toMatchObject([{ target: { type: 'installation' } }]);
    expect(links.data[0]).not.toHaveProperty('organizationId');
    expect(
      (await visitor.call('POST', '/operator/v1/organizations', { name: 'new' }, { 'x-waybill-console': '' })).status,
    ).toBe(403);
    expect((await create()).status).toBe(201);
    clock.advance(12 * HOUR);
    expect((await visitor.call('GET', '/operator/v1/overview')).status).toBe(401);
    await visitor.signIn({ key });
    await keys.revoke(id);
    expect((await visitor.call('GET', '/operator/v1/overview')).body.error.code).toBe('revoked_api_key');
  });

  it('forgets sessions and links that have ended', async () => {
    const { key } = await newKey();
    await signedIn(key);
    await linkFor({ organizationId: acme.organizationId, mode: 'live' });
    clock.advance(DAY);
    await signedIn(key);
    const rows = await db.query(
      'select hash from console_sessions where organization_id = $1 union all select hash from console_links',
      [acme.organizationId],
    );
    expect(rows).toHaveLength(1);
  });

  it('shows a mail as a document without rights, with remote pictures only on request', async () => {
    const visitor = await signedIn((await newKey()).key);
    const html = '<script>alert(1)</script><p>Hello</p><img src="https://spy.example/x.gif">';
    const framed = `${html}<iFrame src="https://spy.example/">`;
    const { body } = await visitor.call('POST', '/v1/emails', { to: ['a@x.example'], subject: 'Hi', html: framed });
    const preview = (query = '') => visitor.call('GET', `/console/preview/${body.data.id}${query}`);
    const { headers, body: shown } = await preview();
    const policy = headers.get('content-security-policy')!;
    expect(shown).toBe(`${html}<x-iFrame src="https://spy.example/">`);
    expect(policy).toContain('sandbox;');
    expect(policy).toMatch(/default-src 'none'; img-src data:;/);
    expect((await preview('?remote=true')).headers.get('content-security-policy')).toMatch(
      /img-src data: https: http:;/,
    );
    const missing = `/console/preview/${randomUUID()}`;
    const page = await visitor.call('GET', missing, undefined, { accept: 'text/html' });
    expect([page.status, page.body]).toEqual([404, expect.stringContaining(page.headers.get('x-request-id')!)]);
    expect(page.body).not.toContain('<p></p>');
  });

  it('shows the pictures that a mail brings with it, and no other files', async () => {
    const visitor = await signedIn((await newKey()).key);
    const html = '<img src="cid:logo@x"><img src="cid:page">';
    const attachments = [
      { filename: 'logo.png', content: 'iVBORw==', contentType: 'image/png', contentId: 'logo@x' },
      { filename: 'page.html', content: 'PGI+', contentType: 'text/html', contentId: 'page' },
    ];
    const { body } = await visitor.call('POST', '/v1/emails', {
      to: ['a@x.example'],
      subject: 'Hi',
      html,
      attachments,
    });
    const shown = '<img src="data:image/png;base64,iVBORw=="><img src="cid:page">';
    expect((await visitor.call('GET', `/console/preview/${body.data.id}`)).body).toBe(shown);
    const part = (...lines: string[]) => ['--b', ...lines].join('\r\n');
    const raw = [
      `From: a@${acme.domain}\r\nTo: a@x.example\r\nSubject: Raw\r\nMIME-Version: 1.0`,
      'Content-Type: multipart/related; boundary=b\r\n',
      part('Content-Type: text/html\r\n', html),
      part('Content-Type: image/png', 'Content-Id: <logo@x>', 'Content-Transfer-Encoding: base64\r\n', 'iVBORw=='),
      '--b--\r\n',
    ].join('\r\n');
    const sent = await visitor.call('POST', '/v1/emails/raw', {
      raw: Buffer.from(raw).toString('base64'),
      to: ['a@x.example'],
    });
    expect(sent.status).toBe(202);
    expect((await visitor.call('GET', `/console/preview/${sent.body.data.id}`)).body.trim()).toBe(shown);
  });

  it('can be switched off, cookie and all', async () => {
    const other = await startApi(db.url, { env: { CONSOLE_ENABLED: 'false', PUBLIC_URL: 'https://mail.example.com' } });
    const closed = new Browser(other.port);
    expect((await closed.call('GET', '/console')).status).toBe(404);
    expect((await closed.signIn({ key: 'wb_live_x' })).status).toBe(404);
    const visitor = await signedIn((await newKey()).key);
    closed.cookie = visitor.cookie;
    expect((await closed.emails()).status).toBe(401);
    await other.close();
  });

  it('has a cookie of this host alone where clients come over https', async () => {
    const other = await startApi(db.url, { env: { PUBLIC_URL: 'https://mail.example.com' } });
    const visitor = new Browser(other.port);
    const { key } = await newKey();
    const answer = await visitor.signIn({ key });
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-waybill=.*; Path=\/;.*; Secure$/);
    expect((await visitor.emails()).status).toBe(200);
    visitor.cookie = visitor.cookie!.replace('__Host-', '');
    expect((await visitor.emails()).status).toBe(401);
    await other.close();
  });
});
