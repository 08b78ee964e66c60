import { createPublicKey } from 'node:crypto';
import type { Answer } from '../../e2e/kit/api-client';
import { newId } from '../../../src/common/ids';
import { DkimKeyGenerator } from '../../../src/modules/domains/dkim/dkim-keyring';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { DomainsApp, type Owner } from './domains-app';

let app: DomainsApp;
let acme: Owner;
beforeAll(async () => {
  app = await DomainsApp.start({ MAIL_HOST: 'mx.waybill.example', PUBLIC_URL: 'https://api.waybill.example' });
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
});

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const errorOf = ({ status, body }: Answer) => [status, body.error?.code];
const validationOf = ({ body }: Answer) => body.error.details.validation;

async function add({ api }: Owner, domain: string): Promise<any> {
  const { status, body } = await api.post('/v1/domains', { domain });
  expect(status).toBe(201);
  return body.data;
}

describe('PATCH /v1/domains/{id}', () => {
  it('requires encryption, shows it, and records the actor', async () => {
    const { id } = await add(acme, 'secret.example');
    const path = `/v1/domains/${id}`;
    for (const required of [true, true, false]) {
      const { status, body } = await acme.api.patch(path, { require_tls: required });
      expect([status, body.data.require_tls]).toEqual([200, required]);
      expect((await acme.api.get(path)).body.data.require_tls).toBe(required);
    }
    const { body } = await acme.api.get(`/v1/audit-log?action=domain.changed&targetId=${id}`);
    expect(body.data.map(({ data }: any) => data)).toEqual([{ require_tls: false }, { require_tls: true }]);
  });

  it('refuses unknown fields, and an empty body changes nothing', async () => {
    const { id } = await add(acme, 'plain.example');
    expect(errorOf(await acme.api.patch(`/v1/domains/${id}`, { require_tls: 'yes' }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect(errorOf(await acme.api.patch(`/v1/domains/${id}`, { requireTls: true }))).toEqual([400, 'invalid_request']);
    expect((await acme.api.patch(`/v1/domains/${id}`, {})).body.data.require_tls).toBe(false);
    expect(errorOf(await acme.api.patch(`/v1/domains/${newId()}`, { require_tls: true }))).toEqual([
      404,
      'resource_not_found',
    ]);
  });
});

describe('POST /v1/domains', () => {
  it('returns the domain with the records to publish', async () => {
    const domain = await add(acme, 'Mail.Customer.CO.UK.');
    const record = { verified: false, ttl: 300, priority: null };
    expect(domain).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      domain: 'mail.customer.co.uk',
      verification_status: 'pending',
      warming_status: 'not_started',
      is_default: true,
      records: [
        {
          ...record,
          ...{ type: 'TXT', host: '_waybill.mail.customer.co.uk', purpose: 'verification' },
          value: expect.stringMatching(/^waybill-verification=[0-9a-f]{32}$/),
        },
        {
          ...record,
          ...{ type: 'TXT', host: 'wb1._domainkey.mail.customer.co.uk', purpose: 'dkim' },
          value: expect.stringMatching(/^v=DKIM1; k=rsa; p=/),
        },
        {
          ...record,
          ...{ type: 'TXT', host: 'mail.customer.co.uk', purpose: 'spf' },
          value: 'v=spf1 include:spf.mx.waybill.example ~all',
        },
        {
          ...record,
          ...{ type: 'TXT', host: '_dmarc.mail.customer.co.uk', purpose: 'dmarc' },
          value: 'v=DMARC1; p=none; rua=mailto:dmarc@mx.waybill.example',
        },
        {
          ...record,
          ...{ type: 'CNAME', host: 'bounce.mail.customer.co.uk', purpose: 'return_path' },
          value: 'mx.waybill.example',
        },
        {
          ...record,
          ...{ type: 'CNAME', host: 'click.mail.customer.co.uk', purpose: 'tracking' },
          value: 'click.mx.waybill.example',
        },
      ],
      created_at: expect.stringMatching(TIME),
      updated_at: expect.stringMatching(TIME),
      subdomain: 'mail',
      verified_at: null,
      dkim_selector: 'wb1',
      dkim_status: 'pending',
      warming_current_limit: null,
      reputation_score: 100,
      require_tls: false,
    });
    const published = Buffer.from(domain.records[1].value.split('p=')[1], 'base64');
    const key = createPublicKey({ key: published, format: 'der', type: 'spki' });
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(2048);
  });

  it.each([
    [{}, { domain: ['domain must be a string'] }],
    [{ domain: 7 }, { domain: ['domain must be a string'] }],
    [{ domain: '' }, { domain: ['domain must be 4 to 253 characters long'] }],
    [{ domain: 'co.uk' }, { domain: [expect.stringContaining('public suffix')] }],
    [{ domain: '-a.example.com' }, { domain: [expect.stringContaining('hyphen')] }],
    [{ domain: 'mx.waybill.example' }, { domain: ['domain must not be a host name of this service'] }],
    [{ domain: 'API.waybill.example.' }, { domain: ['domain must not be a host name of this service'] }],
    [{ domain: 'a.example.com', name: 'x' }, { name: ['name is not a known field'] }],
  ])('refuses %j in a sentence', async (body, validation) => {
    const answer = await acme.api.post('/v1/domains', body);
    expect(errorOf(answer)).toEqual([400, 'invalid_request']);
    expect(answer.body.error.message).toBe('Request validation failed');
    expect(validationOf(answer)).toEqual(validation);
  });

  it('refuses a name that the organization has, however it is spelled, and one that another has verified', async () => {
    await add(acme, 'bücher.example');
    expect(errorOf(await acme.api.post('/v1/domains', { domain: 'XN--bcher-kva.example.' }))).toEqual([
      409,
      'domain_already_exists',
    ]);
    const other = await app.owner('Other');
    const theirs = await add(other, 'bücher.example');
    app.publish(theirs);
    await other.api.post(`/v1/domains/${theirs.id}/verify`);
    const third = await app.owner('Third');
    expect(errorOf(await third.api.post('/v1/domains', { domain: 'bücher.example' }))).toEqual([
      409,
      'domain_already_exists',
    ]);
  });

  it('takes ten thousand domains of an organization, and no more', async () => {
    const { id } = await add(acme, 'first.example');
    await app.db.query(
      `insert into domains
       select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'domain', n || '.many.example', 'is_default', false))).*
       from domains d, generate_series(1, 9998) n where d.id = $1`,
      [id],
    );
    await add(acme, 'last.example');
    expect(errorOf(await acme.api.post('/v1/domains', { domain: 'more.example' }))).toEqual([
      409,
      'domain_limit_reached',
    ]);
    await acme.api.delete(`/v1/domains/${(await acme.api.get('/v1/domains?limit=2')).body.data[1].id}`);
    await add(acme, 'more.example');
    await app.db.query('delete from domains where organization_id = $1 and id <> $2', [acme.organizationId, id]);
  });

  it('accepts the same name once, however many requests come at the same time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => acme.api.post('/v1/domains', { domain: 'once.example' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(409)]);
  });
});

describe('reading domains', () => {
  it('finds them by a part of the name, and by their verification', async () => {
    for (const name of ['shop.one', 'mail.one', 'under_score', 'other']) {
      await add(acme, `${name.replace('_', '-')}.example`);
    }
    await app.db.query(
      `update domains set verification_status = 'failed' where domain in ('mail.one.example', 'other.example')`,
    );
    const found = async (query: string) => {
      const { body } = await acme.api.get(`/v1/domains?${query}`);
      return [body.total, body.data.map(({ domain }: any) => domain)];
    };
    expect(await found('q=ONE.ex')).toEqual([2, ['shop.one.example', 'mail.one.example']]);
    expect(await found('q=one&limit=1&page=2')).toEqual([2, ['mail.one.example']]);
    expect(await found('q=one&status=failed')).toEqual([1, ['mail.one.example']]);
    expect(await found('status=failed')).toEqual([2, ['mail.one.example', 'other.example']]);
    await app.db.query(
      `update domains set sending_status = 'paused' where domain in ('other.example', 'shop.one.example')`,
    );
    expect(await found('restricted=true')).toEqual([2, ['shop.one.example', 'other.example']]);
    expect(await found('restricted=true&status=failed')).toEqual([1, ['other.example']]);
    expect(await found('restricted=false&q=one')).toEqual([2, ['shop.one.example', 'mail.one.example']]);
    await add(acme, 'post.bücher.example');
    for (const text of ['Bücher.ex', 'BU\u0308CHER', 'xn--bcher']) {
      expect(await found(`q=${encodeURIComponent(text)}`)).toEqual([1, ['post.xn--bcher-kva.example']]);
    }
    expect(await found(`q=${encodeURIComponent('ü')}`)).toEqual([0, []]);
    // Nothing stands for other characters.
    for (const text of ['_', '%25', 'two']) expect(await found(`q=${text}`)).toEqual([0, []]);
    for (const query of ['q=', 'status=unknown', 'q=%00', 'restricted=yes']) {
      expect(errorOf(await acme.api.get(`/v1/domains?${query}`))).toEqual([400, 'invalid_request']);
    }
  });

  it('lists them oldest first, page by page, with the total', async () => {
    for (const name of ['one', 'two', 'three']) await add(acme, `${name}.example`);
    const { body } = await acme.api.get('/v1/domains');
    expect(Object.keys(body)).toEqual(['data', 'total']);
    expect(body.total).toBe(3);
    expect(body.data.map(({ domain }: any) => domain)).toEqual(['one.example', 'two.example', 'three.example']);
    expect(body.data[2].records).toHaveLength(6);
    const second = await acme.api.get('/v1/domains?page=2&limit=2');
    expect([second.body.total, second.body.data.map(({ domain }: any) => domain)]).toEqual([3, ['three.example']]);
    expect((await acme.api.get('/v1/domains?page=3&limit=2')).body).toEqual({ data: [], total: 3 });
    expect(errorOf(await acme.api.get('/v1/domains?limit=101'))).toEqual([400, 'invalid_request']);
    expect(errorOf(await acme.api.get('/v1/domains?page=0'))).toEqual([400, 'invalid_request']);
  });

  it('goes from one to the next, with the same total, while others are added and deleted', async () => {
    for (const name of ['one', 'two', 'three', 'four']) await add(acme, `${name}.example`);
    const first = (await acme.api.get('/v1/domains?limit=2')).body;
    await acme.api.delete(`/v1/domains/${first.data[1].id}`);
    await add(acme, 'five.example');
    const { body } = await acme.api.get(`/v1/domains?limit=2&page=7&cursor=${first.nextCursor}`);
    expect([body.total, body.data.map(({ domain }: any) => domain)]).toEqual([4, ['three.example', 'four.example']]);
    const last = (await acme.api.get(`/v1/domains?limit=2&q=five&cursor=${body.nextCursor}`)).body;
    expect(last).toEqual({ data: [expect.objectContaining({ domain: 'five.example' })], total: 1 });
    const bound = await acme.client(['domain:read'], first.data[0].id);
    expect((await bound.get(`/v1/domains?cursor=${first.nextCursor}`)).body).toEqual({ data: [], total: 1 });
    expect(errorOf(await acme.api.get('/v1/domains?cursor=x'))).toEqual([400, 'invalid_request']);
  });

  it('returns one as on its creation', async () => {
    const domain = await add(acme, 'one.example');
    expect((await acme.api.get(`/v1/domains/${domain.id.toUpperCase()}`)).body.data).toEqual(domain);
  });
});

describe('ids that are unknown, of others, and malformed', () => {
  it('are all the same 404, whatever the request', async () => {
    const { id: foreign } = await add(await app.owner('Other'), 'foreign.example');
    const bodies = new Set<string>();
    const generate = jest.spyOn(app.get(DkimKeyGenerator), 'generate');
    for (const id of [newId(), foreign, 'nonsense']) {
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/verify'],
        ['POST', '/rotate-dkim'],
        ['POST', '/set-default'],
      ] as const) {
        const answer = await acme.api.call(method, `/v1/domains/${id}${path}`);
        expect(errorOf(answer)).toEqual([404, 'resource_not_found']);
        bodies.add(JSON.stringify(answer.body));
      }
    }
    expect(bodies.size).toBe(1);
    // No key is made in vain.
    expect(generate).not.toHaveBeenCalled();
  });
});

describe('scopes', () => {
  it('lets a reader read and a manager do both', async () => {
    const { id } = await add(acme, 'one.example');
    const reader = await acme.client(['domain:read']);
    expect((await reader.get(`/v1/domains/${id}`)).status).toBe(200);
    expect((await reader.get('/v1/domains')).status).toBe(200);
    const manager = await acme.client(['domain:manage']);
    expect((await manager.get('/v1/domains')).status).toBe(200);
    for (const path of ['', `/${id}/verify`, `/${id}/rotate-dkim`, `/${id}/set-default`]) {
      const answer = await reader.post(`/v1/domains${path}`, path === '' ? { domain: 'x.example' } : undefined);
      expect(errorOf(answer)).toEqual([403, 'insufficient_permissions']);
      expect(answer.body.error.message).toContain('domain:manage');
    }
    expect(errorOf(await reader.delete(`/v1/domains/${id}`))).toEqual([403, 'insufficient_permissions']);
    expect(errorOf(await (await acme.client(['email:read'])).get('/v1/domains'))).toEqual([
      403,
      'insufficient_permissions',
    ]);
  });

  it('shows a bound key its own domain alone, and leaves what concerns all domains to others', async () => {
    const first = await add(acme, 'first.example');
    const own = await add(acme, 'own.example');
    const bound = await acme.client(['domain:manage'], own.id);
    const { body } = await bound.get('/v1/domains');
    expect([body.total, body.data.map(({ id }: any) => id)]).toEqual([1, [own.id]]);
    expect((await bound.get(`/v1/domains/${own.id}`)).status).toBe(200);
    expect((await bound.post(`/v1/domains/${own.id}/rotate-dkim`)).status).toBe(200);
    expect(errorOf(await bound.get(`/v1/domains/${first.id}`))).toEqual([404, 'resource_not_found']);
    expect(errorOf(await bound.delete(`/v1/domains/${first.id}`))).toEqual([404, 'resource_not_found']);
    expect(errorOf(await bound.post(`/v1/domains/${first.id}/verify`))).toEqual([404, 'resource_not_found']);
    expect(errorOf(await bound.post('/v1/domains', { domain: 'x.example' }))).toEqual([403, 'domain_not_allowed']);
    expect(errorOf(await bound.post(`/v1/domains/${own.id}/set-default`))).toEqual([403, 'domain_not_allowed']);
  });
});

describe('POST /v1/domains/{id}/verify', () => {
  it('finds what is published, and remembers it record by record', async () => {
    const domain = await add(acme, 'good.example');
    app.publish(domain);
    const { status, body } = await acme.api.post(`/v1/domains/${domain.id}/verify`);
    expect(status).toBe(200);
    expect(body.data).toEqual({
      success: true,
      status: 'verified',
      domain_verified: true,
      dkim_verified: true,
      errors: [],
      records: domain.records.map((record: object) => ({ ...record, verified: true })),
    });
    expect((await acme.api.get(`/v1/domains/${domain.id}`)).body.data).toMatchObject({
      verification_status: 'verified',
      verified_at: expect.stringMatching(TIME),
      dkim_status: 'verified',
      records: domain.records.map((record: object) => ({ ...record, verified: true })),
    });
  });

  it('says what is missing in a sentence each; a failed check is no error', async () => {
    const domain = await add(acme, 'bad.example');
    const [ownership, , spf] = domain.records;
    app.dns.set({ [ownership.host]: { TXT: ['something else'] }, [spf.host]: { TXT: [spf.value] } });
    const { status, body } = await acme.api.post(`/v1/domains/${domain.id}/verify`);
    expect([status, body.data.success, body.data.status]).toEqual([200, false, 'pending']);
    expect([body.data.domain_verified, body.data.dkim_verified]).toEqual([false, false]);
    expect(body.data.records.map(({ verified }: any) => verified)).toEqual([false, false, true, false, false, false]);
    expect(body.data.errors).toHaveLength(5);
    expect(body.data.errors[0]).toMatch(/^verification \(TXT _waybill\.bad\.example\): ./);
  });

  it('reads the DNS each time, not a cache', async () => {
    const domain = await add(acme, 'moving.example');
    const [ownership] = domain.records;
    const verify = async () => (await acme.api.post(`/v1/domains/${domain.id}/verify`)).body.data;
    expect((await verify()).domain_verified).toBe(false);
    app.publish(domain);
    expect((await verify()).domain_verified).toBe(true);
    app.dns.set({ [ownership.host]: { TXT: [] } });
    expect(await verify()).toMatchObject({ success: false, domain_verified: false, status: 'verified' });
    app.dns.set({ [ownership.host]: 'servfail' });
    expect((await verify()).status).toBe('verified');
  });
});

describe('the audit log', () => {
  it('has every change with the key that made it', async () => {
    const first = await add(acme, 'first.example');
    const second = await add(acme, 'audited.example');
    await app.get(DomainsService).markVerified(acme.organizationId, second.id);
    await acme.api.post(`/v1/domains/${second.id}/set-default`);
    await acme.api.post(`/v1/domains/${second.id}/set-default`);
    await acme.api.post(`/v1/domains/${first.id}/rotate-dkim`);
    await acme.api.delete(`/v1/domains/${first.id}`);
    const actor = acme.keyId;
    expect(await app.audit(acme.organizationId)).toEqual([
      { actor, action: 'domain.added', target_id: first.id, data: { domain: 'first.example' } },
      { actor, action: 'domain.added', target_id: second.id, data: { domain: 'audited.example' } },
      { actor: 'operator', action: 'domain.verified', target_id: second.id, data: { vouched: true } },
      { actor, action: 'domain.default_set', target_id: second.id, data: {} },
      { actor, action: 'dkim.rotated', target_id: first.id, data: { selector: 'wb2' } },
      { actor, action: 'domain.deleted', target_id: first.id, data: { domain: 'first.example' } },
    ]);
  });
});
