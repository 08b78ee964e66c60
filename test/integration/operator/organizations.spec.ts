import { randomUUID } from 'node:crypto';
import { OperatorKeysService } from '../../../src/auth/keys/operator-keys.service';
import { HOUR, MINUTE, SECOND } from '../../../src/common/clock';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { RestrictionsService } from '../../../src/modules/domains/restrictions/restrictions.service';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { ApiClient } from '../../e2e/kit/api-client';
import { waitFor } from '../../setup/wait-for';
import { DomainsApp, type Owner } from '../domains/domains-app';
import { type OperatorClient, operatorOf } from './operator-app';

let app: DomainsApp;
let operator: OperatorClient;
let acme: Owner;
beforeAll(async () => {
  app = await DomainsApp.start({ WARMUP_ENABLED: 'false', RATE_LIMIT_ENABLED: 'true' });
  // Ids of emails are of the real clock, and their hours are counted by it.
  app.clock.set(new Date());
  operator = await operatorOf(app);
});
afterAll(() => app.close());
beforeEach(async () => (acme = await app.owner(`Acme ${randomUUID()}`)));

const path = () => `/operator/v1/organizations/${acme.organizationId}`;

async function sender({ organizationId }: Owner): Promise<string> {
  const domains = app.get(DomainsService);
  const { id, domain } = await domains.add(organizationId, `${randomUUID()}.example`);
  await domains.markVerified(organizationId, id);
  return `hello@${domain}`;
}

const mail = (from: string, ...to: string[]) => ({ from, to, subject: 'Hello', text: 'Hello' });

describe('operator keys', () => {
  it('open nothing once they are revoked or have expired, and say when they were used', async () => {
    const keys = app.get(OperatorKeysService);
    const soon = new Date(app.clock.now().getTime() + HOUR);
    const [revoked, brief] = [await operatorOf(app), await operatorOf(app, ['operator:manage'], soon)];
    expect((await brief.api.get('/operator/v1/workers')).status).toBe(200);
    const isNoted = async () =>
      (await keys.list()).some(({ id, lastUsedAt }) => id === brief.keyId && lastUsedAt !== null);
    await waitFor(isNoted, { what: 'the use to be noted' });
    await keys.revoke(revoked.keyId);
    app.clock.advance(2 * HOUR);
    for (const [client, code] of [
      [revoked, 'revoked_api_key'],
      [brief, 'expired_api_key'],
    ] as const) {
      const { status, body } = await client.api.get('/operator/v1/workers');
      expect([status, body.error.code]).toEqual([401, code]);
    }
    app.clock.set(new Date());
  });

  it('have a limit of their own, 600 requests a minute', async () => {
    const { api } = await operatorOf(app);
    const { headers } = await api.get('/operator/v1/workers');
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['600', '599']);
    expect(headers.get('x-test-mode')).toBeNull();
  });
});

describe('GET /operator/v1/organizations', () => {
  it('lists them newest first, page by page, with their usage', async () => {
    const other = await app.owner('Other_100%');
    const { body } = await operator.api.get('/operator/v1/organizations?limit=2');
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([other.organizationId, acme.organizationId]);
    expect(body.data[0]).toEqual({
      id: other.organizationId,
      name: 'Other_100%',
      status: 'active',
      weight: 1,
      monthlyRecipients: null,
      createdAt: expect.any(String),
      usage: { today: 0, month: 0 },
    });
    expect(body.pagination).toEqual({ page: 1, limit: 2, total: expect.any(Number), totalPages: expect.any(Number) });
    const next = await operator.api.get('/operator/v1/organizations?limit=1&page=2');
    expect(next.body.data[0].id).toBe(acme.organizationId);
  });

  it('finds them by a part of the name, by id and by status', async () => {
    const other = await app.owner('Other_100%');
    const found = async (query: string) =>
      (await operator.api.get(`/operator/v1/organizations?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await found('q=other_100%25')).toContain(other.organizationId);
    expect(await found('q=other%25100')).toEqual([]);
    expect(await found(`q=${acme.organizationId.toUpperCase()}`)).toEqual([acme.organizationId]);
    expect(await found('q=other_100%25&status=suspended')).toEqual([]);
  });
});

describe('POST /operator/v1/organizations', () => {
  it('makes one, and keys for it, and records the actor', async () => {
    const made = await operator.api.post('/operator/v1/organizations', { name: ' Newcomer ' });
    expect([made.status, made.body.data.name]).toEqual([201, 'Newcomer']);
    const { id } = made.body.data;
    const wanted = { name: 'first', mode: 'live', scopes: ['email:send', 'domain:manage'] };
    const created = await operator.api.post(`/operator/v1/organizations/${id}/api-keys`, wanted);
    expect(created.status).toBe(201);
    expect((await new ApiClient(app.port, created.body.data.key).get('/v1/domains')).status).toBe(200);

    const { body } = await operator.api.get(`/operator/v1/audit?organization_id=${id}`);
    const actor = `operator:${operator.keyId}`;
    expect(body).toEqual({
      data: [
        expect.objectContaining({ actor, action: 'api_key.created', organizationId: id }),
        expect.objectContaining({ actor, action: 'organization.created', target: { type: 'organization', id } }),
      ],
    });
    const own = await new ApiClient(app.port, created.body.data.key).get('/v1/audit-log');
    expect(own.status).toBe(403);
  });

  it('refuses a name that is none', async () => {
    for (const name of ['', '   ', 'x'.repeat(201), 7]) {
      expect((await operator.api.post('/operator/v1/organizations', { name })).status).toBe(400);
    }
  });
});

describe('PATCH /operator/v1/organizations/{id}', () => {
  it('changes the given fields, all or none, and the audit log has the actor', async () => {
    const { status, body } = await operator.api.patch(path(), { name: 'Renamed', weight: 5, monthlyRecipients: 10 });
    expect([status, body.data]).toEqual([
      200,
      expect.objectContaining({ name: 'Renamed', weight: 5, monthlyRecipients: 10, status: 'active' }),
    ]);
    const entries = await app.audit(acme.organizationId);
    expect(entries.map(({ actor, action, data }) => ({ actor, action, data }))).toEqual([
      { actor: `operator:${operator.keyId}`, action: 'organization.renamed', data: {} },
      { actor: `operator:${operator.keyId}`, action: 'organization.weight_changed', data: { weight: 5 } },
      { actor: `operator:${operator.keyId}`, action: 'organization.limit_changed', data: { monthlyRecipients: 10 } },
    ]);
    const refused = await operator.api.patch(path(), { name: 'Again', weight: 101 });
    expect([refused.status, Object.keys(refused.body.error.details.validation)]).toEqual([400, ['weight']]);
    expect((await operator.api.get(path())).body.data).toMatchObject({ name: 'Renamed', weight: 5 });
  });

  it.each([{ name: '' }, { status: 'gone' }, { weight: 0 }, { weight: '5' }, { monthlyRecipients: -1 }, { id: 'x' }])(
    'refuses %j',
    async (change) => {
      expect((await operator.api.patch(path(), change)).status).toBe(400);
    },
  );

  it('returns 404 for an unknown organization', async () => {
    for (const id of [randomUUID(), 'x']) {
      expect((await operator.api.patch(`/operator/v1/organizations/${id}`, { weight: 2 })).status).toBe(404);
    }
  });

  it('suspends and resumes', async () => {
    await operator.api.patch(path(), { status: 'suspended' });
    app.clock.advance(3 * SECOND);
    const refused = await acme.api.get('/v1/domains');
    expect([refused.status, refused.body.error.code]).toEqual([403, 'account_suspended']);
    expect(refused.body.error.suggestion).toContain('Ask the operator');
    await operator.api.patch(path(), { status: 'active' });
    app.clock.advance(3 * SECOND);
    expect((await acme.api.get('/v1/domains')).status).toBe(200);
  });
});

describe('monthlyRecipients', () => {
  const limit = (monthlyRecipients: number | null) => operator.api.patch(path(), { monthlyRecipients });

  it('bounds the recipients of a month exactly, those of before the limit among them', async () => {
    const from = await sender(acme);
    expect((await acme.api.post('/v1/emails', mail(from, 'a@x.example', 'b@x.example'))).status).toBe(202);
    await limit(4);
    expect((await acme.api.post('/v1/emails', mail(from, 'c@x.example'))).status).toBe(202);
    const refused = await acme.api.post('/v1/emails', mail(from, 'd@x.example', 'e@x.example'));
    expect([refused.status, refused.body.error.code]).toEqual([429, 'sending_limit_exceeded']);
    expect(refused.body.error.details).toMatchObject({ limit: 4, used: 3, requested: 2 });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // What is refused counts for nothing; an email of the same batch that fits is taken.
    const batch = [mail(from, 'f@x.example', 'g@x.example'), mail(from, 'h@x.example'), mail(from, 'i@x.example')];
    const { body } = await acme.api.post('/v1/emails/batch', batch);
    const codes = body.data.data.map((item: { code?: string }) => item.code ?? 'taken');
    expect(codes).toEqual(['sending_limit_exceeded', 'taken', 'sending_limit_exceeded']);
    expect((await operator.api.get(path())).body.data.usage).toEqual({ today: 4, month: 4 });
  });

  it('is exact when many send at once, and holds up no other tenant', async () => {
    const [from, other] = [await sender(acme), await app.owner('Other')];
    const theirs = await sender(other);
    await limit(5);
    const sends = Array.from({ length: 12 }, (_, index) => [
      acme.api.post('/v1/emails', mail(from, `p${index}@x.example`)),
      other.api.post('/v1/emails', mail(theirs, `p${index}@x.example`)),
    ]);
    const answers = await Promise.all(sends.flat());
    const statuses = (part: number) => answers.filter((_, index) => index % 2 === part).map(({ status }) => status);
    expect(statuses(0).sort()).toEqual([...Array(5).fill(202), ...Array(7).fill(429)]);
    expect(statuses(1)).toEqual(Array(12).fill(202));
  });

  it('leaves test mail alone, and ends with null', async () => {
    const from = await sender(acme);
    await limit(0);
    const { body } = await acme.api.post('/v1/api-keys', { name: 'test', mode: 'test', scopes: ['email:send'] });
    const test = new ApiClient(app.port, body.data.key);
    expect((await test.post('/v1/emails', mail(from, 'a@x.example'))).status).toBe(202);
    expect((await acme.api.post('/v1/emails', mail(from, 'a@x.example'))).status).toBe(429);
    await limit(null);
    expect((await acme.api.post('/v1/emails', mail(from, 'a@x.example'))).status).toBe(202);
  });
});

describe('GET /operator/v1/overview', () => {
  it('shows the queue, the rates, the workers and problems', async () => {
    app.clock.advance(MINUTE);
    const before = (await operator.api.get('/operator/v1/overview')).body.data;
    const from = await sender(acme);
    await acme.api.post('/v1/emails', mail(from, ...Array.from({ length: 10 }, (_, index) => `r${index}@x.example`)));
    await app.get(StatsService).fold();
    await app.db.query(`update queue_measures set measured_at = '-infinity', begun_at = '-infinity'`);
    await app.db.query(
      `insert into worker_sessions (id, host, process_id, lease_until, version)
       values (gen_random_uuid(), 'mail-1', 7, now() + interval '1 minute', '9.9.9')`,
    );
    await app.db.query(`update domains set sending_status = 'paused' where organization_id = $1`, [
      acme.organizationId,
    ]);
    app.clock.advance(3 * SECOND);
    const { data } = (await operator.api.get('/operator/v1/overview')).body;
    expect(data).toEqual({
      queue: {
        ready: expect.any(Number),
        waiting: expect.any(Number),
        claimed: 0,
        held: 0,
        oldestReadySeconds: expect.any(Number),
      },
      rates: {
        acceptedPerMinute: expect.any(Number),
        deliveredPerMinute: 0,
        deferredPerMinute: 0,
        bouncedPerMinute: 0,
      },
      workers: 1,
      organizations: before.organizations,
      restrictedDomains: 1,
      pausedDestinations: 0,
    });
    expect(data.queue.ready).toBeGreaterThanOrEqual(10);
    expect(data.rates.acceptedPerMinute).toBeGreaterThanOrEqual(before.rates.acceptedPerMinute + 2);
    const { body } = await operator.api.get('/operator/v1/workers');
    expect(body.data).toEqual([
      {
        id: expect.any(String),
        host: 'mail-1',
        pid: 7,
        version: '9.9.9',
        startedAt: expect.any(String),
        leaseUntil: expect.any(String),
        inFlight: 0,
      },
    ]);
  });
});

describe('GET /operator/v1/audit', () => {
  it('covers all organizations, and entries without one, newest first', async () => {
    const made = await operatorOf(app);
    const pages = [];
    let query = 'limit=2';
    for (let page = 0; page < 3; page += 1) {
      const { body } = await operator.api.get(`/operator/v1/audit?${query}`);
      pages.push(...body.data);
      query = `limit=2&cursor=${body.nextCursor}`;
    }
    const ids = pages.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort().reverse());
    expect(new Set(ids).size).toBe(6);
    expect(pages[0]).toMatchObject({
      action: 'operator_key.created',
      target: { type: 'operator_key', id: made.keyId },
    });
    expect(pages[0]).not.toHaveProperty('organizationId');
    const { body } = await operator.api.get('/operator/v1/audit?action=organization.created&limit=1');
    expect(body.data).toEqual([expect.objectContaining({ organizationId: acme.organizationId })]);
  });

  it('has the history of one target', async () => {
    const [made, other] = [await operatorOf(app), await operatorOf(app)];
    const { body } = await operator.api.get(`/operator/v1/audit?target_id=${made.keyId}`);
    expect(body.data).toEqual([expect.objectContaining({ target: { type: 'operator_key', id: made.keyId } })]);
    const none = await operator.api.get(
      `/operator/v1/audit?target_id=${other.keyId}&organization_id=${acme.organizationId}`,
    );
    expect(none.body.data).toEqual([]);
    expect((await operator.api.get('/operator/v1/audit?target_id=')).status).toBe(400);
  });
});

describe('/operator/v1/restricted-domains', () => {
  it('lists slowed and paused domains of all organizations with their causes, page by page', async () => {
    const restrictions = app.get(RestrictionsService);
    const before = (await listed()).length;
    const [own, others] = [await app.owner(`Beta ${randomUUID()}`), acme];
    const paused = await app.get(DomainsService).add(own.organizationId, `${randomUUID()}.example`);
    const slowed = await app.get(DomainsService).add(others.organizationId, `${randomUUID()}.example`);
    await app.get(DomainsService).add(others.organizationId, `${randomUUID()}.example`);
    await restrictions.pauseByOperator(paused.id, 'Phishing');
    await restrictions.slow(slowed, 'bounces', { accepted: 1_000, bounced: 100, complaints: 0 });
    const found = await listed();
    expect(found).toHaveLength(before + 2);
    expect(found.find(({ id }) => id === paused.id)).toEqual({
      ...{ id: paused.id, organizationId: own.organizationId, domain: paused.domain },
      ...{ status: 'paused', reason: 'operator', note: 'Phishing', since: expect.any(String) },
    });
    expect(found.find(({ id }) => id === slowed.id)).toMatchObject({
      ...{ organizationId: others.organizationId, status: 'slowed', reason: 'bounces' },
      dailyLimit: expect.any(Number),
    });
  });

  it('refuses an invented cursor', async () => {
    for (const cursor of ['abc', Buffer.from('x y').toString('base64url'), '..']) {
      const { status } = await operator.api.get(`/operator/v1/restricted-domains?cursor=${cursor}`);
      expect(status).toBe(400);
    }
  });

  /** All, one a page. */
  async function listed(): Promise<{ id: string }[]> {
    const found: { id: string }[] = [];
    let cursor = '';
    do {
      const { body } = await operator.api.get(`/operator/v1/restricted-domains?limit=1${cursor}`);
      found.push(...body.data);
      cursor = body.nextCursor ? `&cursor=${body.nextCursor}` : '';
    } while (cursor !== '');
    return found;
  }
});
