import { randomUUID } from 'node:crypto';
import { InboundMailLimits } from '../../../src/modules/inbound-mail/emails/inbound-mail-limits';
import { Database } from '../../../src/database/pool/database.service';
import { InboundRoutesRepository } from '../../../src/modules/inbound-mail/routes/inbound-routes.repository';
import { InboundMailService } from '../../../src/modules/inbound-mail/inbound-mail.service';
import { waitFor } from '../../setup/wait-for';
import { addDomain } from '../../factories/tenants';
import { DomainsApp, type Owner } from '../domains/domains-app';

describe('/v1/inbound-routes', () => {
  let app: DomainsApp;
  let acme: Owner;
  let domain: string;
  let domainId: string;

  beforeAll(async () => {
    app = await DomainsApp.start({ MAIL_HOST: 'mail.waybill.example', DMARC_REPORT_ADDRESS: 'dmarc@reports.example' });
    app.clock.set(new Date());
    app.dns.set({ 'hooks.example.com': { A: ['93.184.215.14'] } });
  });
  beforeEach(async () => {
    acme = await app.owner();
    domain = `d${acme.organizationId.slice(-12)}.example`;
    domainId = await addDomain(app.db, acme.organizationId, { domain });
  });
  afterAll(() => app.close());

  const PATH = '/v1/inbound-routes';

  it('are added, listed by address, changed and deleted, with entries in the audit log', async () => {
    const { status, body } = await acme.api.post(PATH, { address: `Support@In.${domain}` });
    expect(status).toBe(201);
    const { id } = body.data;
    const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    expect(body.data).toEqual({ id, address: `support@in.${domain}`, domainId, ...times });
    await acme.api.post(PATH, { address: `*@${domain}` });
    const listed = await acme.api.get(`${PATH}?limit=1`);
    expect(listed.body.data.map((route: any) => route.address)).toEqual([`*@${domain}`]);
    const { nextCursor, ...pagination } = listed.body.pagination;
    expect(pagination).toEqual({ page: 1, limit: 1, total: 2, totalPages: 2 });
    const next = await acme.api.get(`${PATH}?limit=1&cursor=${nextCursor}`);
    expect(next.body.data).toHaveLength(1);
    expect(next.body.data[0].address).not.toBe(`*@${domain}`);
    expect(next.body.pagination).toEqual({ page: 1, limit: 1, total: 2, totalPages: 2 });
    const changed = await acme.api.patch(`${PATH}/${id}`, { address: `help@${domain}` });
    expect(changed.body.data.address).toBe(`help@${domain}`);
    expect((await acme.api.get(`${PATH}/${id}`)).body.data).toEqual(changed.body.data);
    expect((await acme.api.delete(`${PATH}/${id}`)).body.data).toEqual({ id, deleted: true });
    expect((await acme.api.get(`${PATH}/${id}`)).status).toBe(404);
    const actions = (await app.audit(acme.organizationId)).map(({ action }) => action);
    expect(actions.filter((action) => action.startsWith('inbound_route.'))).toEqual([
      ...['inbound_route.created', 'inbound_route.created', 'inbound_route.changed', 'inbound_route.deleted'],
    ]);
  });

  it('belong to the nearest verified domain', async () => {
    const nearer = await addDomain(app.db, acme.organizationId, { domain: `in.${domain}` });
    const { body } = await acme.api.post(PATH, { address: `a@deep.in.${domain}` });
    expect(body.data.domainId).toBe(nearer);
  });

  it('say that no domain is verified any more, and belong to the one that is verified anew', async () => {
    const { body } = await acme.api.post(PATH, { address: `a@in.${domain}` });
    const read = async () => (await acme.api.get(`${PATH}/${body.data.id}`)).body.data;
    await acme.api.delete(`/v1/domains/${domainId}`);
    expect(await read()).not.toHaveProperty('domainId');
    const again = await addDomain(app.db, acme.organizationId, { domain });
    expect((await read()).domainId).toBe(again);
    const records = (await acme.api.get(`/v1/domains/${again}`)).body.data.records;
    expect(records.filter((record: any) => record.purpose === 'inbound')).toMatchObject([
      { type: 'MX', host: `in.${domain}`, value: 'mail.waybill.example', priority: 10 },
    ]);
  });

  it.each([
    ['an unknown domain', 'a@elsewhere.example', 422, 'domain_not_verified'],
    ['no address', 'support', 400, 'invalid_request'],
    ['a pattern of the local part', 'sup*@elsewhere.example', 400, 'invalid_request'],
    ['two addresses', 'a@b.example, c@d.example', 400, 'invalid_request'],
    ['the host of bounces', 'a@bounce.elsewhere.example', 400, 'invalid_request'],
    ['the mail host', '*@mail.waybill.example', 400, 'invalid_request'],
    ['the address of DMARC reports', 'dmarc@reports.example', 400, 'invalid_request'],
  ])('refuse %s', async (_what, address, status, code) => {
    const answer = await acme.api.post(PATH, { address });
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  it('refuse a domain that is not verified, and a look-alike of one that is', async () => {
    await addDomain(app.db, acme.organizationId, { domain: `new-${domain}`, status: 'pending' });
    for (const host of [`new-${domain}`, `not${domain}`]) {
      expect((await acme.api.post(PATH, { address: `*@${host}` })).body.error.code).toBe('domain_not_verified');
    }
  });

  it('are one for each address of an organization', async () => {
    await acme.api.post(PATH, { address: `a@${domain}` });
    const { status, body } = await acme.api.post(PATH, { address: `A@${domain}` });
    expect([status, body.error.code]).toEqual([409, 'inbound_route_already_exists']);
  });

  it('are one for each address beside a process of an earlier release, which adds without the lock', async () => {
    const address = `a@${domain}`;
    const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    let answer: ReturnType<Owner['api']['post']> | undefined;
    await app.get(Database).transaction(async (tx) => {
      const times = { createdAt: new Date(), updatedAt: new Date() };
      const route = { organizationId: acme.organizationId, id: randomUUID(), address, webhookId: null, ...times };
      await app.get(InboundRoutesRepository).insert(route, tx);
      answer = acme.api.post(PATH, { address });
      await waitFor(async () => (await app.db.query(waiting)).length > 0, { what: 'the addition to wait' });
    });
    expect((await answer)?.body.error.code).toBe('inbound_route_already_exists');
  });

  it('are one for each person, however the sigmas are written, and take the mail in each form', async () => {
    const { status, body: first } = await acme.api.post(PATH, { address: `ΝΙΚΟΣ@${domain}` });
    expect(status).toBe(201);
    for (const form of ['νικος', 'νικοσ']) {
      const second = await acme.api.post(PATH, { address: `${form}@${domain}` });
      expect([second.status, second.body.error.code]).toEqual([409, 'inbound_route_already_exists']);
      const routing = await app.get(InboundMailService).route(`${form}@${domain}`);
      expect(routing).toMatchObject({ routes: [{ routeId: first.data.id }] });
    }
    const other = await acme.api.post(PATH, { address: `other@${domain}` });
    const renamed = await acme.api.patch(`${PATH}/${other.body.data.id}`, { address: `νικοσ@${domain}` });
    expect(renamed.body.error.code).toBe('inbound_route_already_exists');
    expect((await acme.api.patch(`${PATH}/${first.data.id}`, { address: `νικοσ@${domain}` })).status).toBe(200);
  });

  it('of two spellings, as earlier releases took them, keep the mail to their own', async () => {
    const ids = new Map<string, string>();
    for (const form of ['νικοσ', 'νικος']) {
      const { body } = await acme.api.post(PATH, { address: `${form.length}${ids.size}@${domain}` });
      await app.db.query('update inbound_routes set address = $2 where id = $1', [body.data.id, `${form}@${domain}`]);
      ids.set(form, body.data.id);
    }
    for (const [form, routeId] of ids) {
      expect(await app.get(InboundMailService).route(`${form}@${domain}`)).toMatchObject({ routes: [{ routeId }] });
    }
  });

  it('name a webhook of their own, and let go of it', async () => {
    const unknown = await acme.api.post(PATH, { address: `a@${domain}`, webhookId: randomUUID() });
    expect(unknown.body.error.details.validation).toHaveProperty('webhookId');
    const hook = await acme.api.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['*'] });
    const webhookId = hook.body.data.id;
    const { body } = await acme.api.post(PATH, { address: `a@${domain}`, webhookId });
    expect(body.data.webhookId).toBe(webhookId);
    const changed = await acme.api.patch(`${PATH}/${body.data.id}`, { webhookId: null });
    expect(changed.body.data).not.toHaveProperty('webhookId');
  });

  it('notify every subscribed webhook once their own has been deleted', async () => {
    const address = `a@${domain}`;
    const hook = await acme.api.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['*'] });
    const webhookId = hook.body.data.id;
    const { body } = await acme.api.post(PATH, { address, webhookId });
    const routed = async () => app.get(InboundMailService).route(address);
    expect(await routed()).toMatchObject({ routes: [{ webhookId }] });
    await acme.api.delete(`/v1/webhooks/${webhookId}`);
    expect(await routed()).toMatchObject({ routes: [{ webhookId: null }] });
    expect((await acme.api.get(`${PATH}/${body.data.id}`)).body.data).not.toHaveProperty('webhookId');
  });

  it('are as many as an organization may have, however many come at the same moment', async () => {
    Object.assign(app.get(InboundMailLimits), { maxRoutes: 2 });
    const added = await Promise.all([1, 2, 3, 4, 5].map((n) => acme.api.post(PATH, { address: `a${n}@${domain}` })));
    Object.assign(app.get(InboundMailLimits), { maxRoutes: new InboundMailLimits().maxRoutes });
    expect(added.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409]);
  });

  it('need their scopes', async () => {
    const reader = await acme.client(['inbound:read']);
    expect((await reader.get(PATH)).status).toBe(200);
    expect((await reader.post(PATH, { address: `a@${domain}` })).status).toBe(403);
    const manager = await acme.client(['inbound:manage']);
    expect((await manager.get(PATH)).status).toBe(200);
    expect((await (await acme.client(['email:read'])).get(PATH)).status).toBe(403);
  });
});
