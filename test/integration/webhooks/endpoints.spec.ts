import { MAX_ENDPOINTS } from '../../../src/modules/webhooks/endpoints/webhooks.service';
import { newId } from '../../../src/common/ids';
import { HOUR, MINUTE } from '../../../src/common/clock';
import { EventsService } from '../../../src/modules/events/events.service';
import { insertEvents } from '../../factories/feed-events';
import { type Customer, dataOf, HOST, URL, WebhooksApp } from './webhooks-app';

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

describe('/v1/webhooks', () => {
  let app: WebhooksApp;
  let customer: Customer;

  beforeAll(async () => (app = await WebhooksApp.start()));
  beforeEach(async () => (customer = await app.customer()));
  afterAll(() => app.close());

  it('adds a webhook and shows its secret once', async () => {
    const { api } = customer;
    const fields = { url: 'https://Hooks.example.com', events: ['delivered', 'bounced'], description: 'Orders' };
    const { secret, ...added } = await app.add(api, fields);
    const now = app.clock.now().toISOString();
    expect(added).toEqual({
      id: expect.stringMatching(ID),
      url: `https://${HOST}/`,
      events: ['delivered', 'bounced'],
      description: 'Orders',
      enabled: true,
      createdAt: now,
      updatedAt: now,
    });
    expect(secret).toMatch(SECRET);
    expect(dataOf(await api.get(`/v1/webhooks/${added.id}`))).toEqual(added);
    expect((await api.get('/v1/webhooks')).body).toEqual({ data: [added], total: 1 });
    expect(JSON.stringify(await app.endpoint(added.id))).not.toContain(secret.slice('whsec_'.length));
  });

  it('receives the events after the response', async () => {
    await insertEvents(app.db, customer, ['queued']);
    const { id } = await app.add(customer.api);
    const { eventIds } = await insertEvents(app.db, customer, ['delivered']);
    const { position } = await app.endpoint(id);
    const stream = { organizationId: customer.organizationId, mode: 'live' as const, after: position };
    const [events = []] = await app.app.get(EventsService).readAfter([stream], 10);
    expect(events.map((event) => event.id)).toEqual(eventIds);
  });

  it('adds one that is disabled', async () => {
    const added = await app.add(customer.api, { enabled: false });
    expect(added).toMatchObject({ enabled: false, disabledReason: 'request', disabledAt: added.createdAt });
  });

  it('changes and records nothing without fields', async () => {
    const { api, organizationId } = customer;
    const added = await app.add(api);
    const before = dataOf(await api.get(`/v1/webhooks/${added.id}`));
    app.clock.advance(MINUTE);
    expect(dataOf(await api.call('PATCH', `/v1/webhooks/${added.id}`, {}))).toEqual(before);
    const changes = await app.db.query(
      `select 1 from audit_log where organization_id = $1 and action = 'webhook.changed'`,
      [organizationId],
    );
    expect(changes).toEqual([]);
  });

  it('changes the given fields, and nothing else', async () => {
    const { api } = customer;
    const { id } = await app.add(api, { description: 'Orders' });
    const added = dataOf(await api.get(`/v1/webhooks/${id}`));
    app.clock.advance(MINUTE);
    const path = `/v1/webhooks/${added.id}`;
    const changed = dataOf(await api.call('PATCH', path, { url: `${URL}/2`, events: ['sent'] }));
    expect(changed).toEqual({
      ...added,
      url: `${URL}/2`,
      events: ['sent'],
      updatedAt: app.clock.now().toISOString(),
    });
    expect(dataOf(await api.get(path))).toEqual(changed);
    expect(dataOf(await api.call('PATCH', path, { description: '' }))).not.toHaveProperty('description');
  });

  it('disables, and enables again from now on', async () => {
    const { api } = customer;
    const { id } = await app.add(api);
    const path = `/v1/webhooks/${id}`;
    const disabled = dataOf(await api.call('PATCH', path, { enabled: false }));
    expect(disabled).toMatchObject({ enabled: false, disabledReason: 'request', disabledAt: disabled.updatedAt });
    await app.db.query(
      "update webhook_endpoints set disabled_reason = 'failing', failing_since = now() where id = $1",
      [id],
    );
    // A webhook that is already disabled does not change.
    expect(dataOf(await api.call('PATCH', path, { enabled: false }))).toMatchObject({ disabledReason: 'failing' });
    const missed = await insertEvents(app.db, customer, ['delivered']);
    const enabled = dataOf(await api.call('PATCH', path, { enabled: true }));
    expect(enabled).toEqual({
      ...{ id, url: URL, events: ['*'], enabled: true },
      ...{ createdAt: expect.any(String), updatedAt: expect.any(String) },
    });
    expect((await app.endpoint(id)).position > missed.eventIds[0]!).toBe(true);
  });

  it('does not move on what is enabled already', async () => {
    const { id } = await app.add(customer.api);
    const { position } = await app.endpoint(id);
    await insertEvents(app.db, customer, ['delivered']);
    dataOf(await customer.api.call('PATCH', `/v1/webhooks/${id}`, { enabled: true }));
    expect((await app.endpoint(id)).position).toBe(position);
  });

  it('forgets the failures of another address', async () => {
    const { id } = await app.add(customer.api);
    await app.db.query('update webhook_endpoints set failing_since = now(), last_success_at = now() where id = $1', [
      id,
    ]);
    const path = `/v1/webhooks/${id}`;
    const seen = dataOf(await customer.api.call('PATCH', path, { url: URL }));
    expect(seen).toMatchObject({ failingSince: expect.any(String), lastSuccessAt: expect.any(String) });
    expect(dataOf(await customer.api.call('PATCH', path, { url: `${URL}/2` }))).not.toHaveProperty('failingSince');
  });

  it('rotates the secret, and keeps the one before for 24 hours', async () => {
    const { api } = customer;
    const added = await app.add(api);
    const rotated = dataOf(await api.post(`/v1/webhooks/${added.id}/rotate-secret`));
    expect(rotated).toMatchObject({ id: added.id, secret: expect.stringMatching(SECRET) });
    expect(rotated.secret).not.toBe(added.secret);
    const stored = await app.endpoint(added.id);
    expect(stored.previous_secret).not.toBeNull();
    expect(stored.previous_secret_until.getTime() - app.clock.now().getTime()).toBe(24 * HOUR);
  });

  it('does not keep a secret that is damaged: nothing could be signed as long as it was in force', async () => {
    const { api } = customer;
    const [added, other] = [await app.add(api), await app.add(api)];
    await app.db.query(
      'update webhook_endpoints set secret = (select secret from webhook_endpoints where id = $2) where id = $1',
      [added.id, other.id],
    );
    dataOf(await api.post(`/v1/webhooks/${added.id}/rotate-secret`));
    expect(await app.endpoint(added.id)).toMatchObject({ previous_secret: null, previous_secret_until: null });
  });

  it('deletes a webhook at once', async () => {
    const { api } = customer;
    const { id } = await app.add(api);
    expect((await api.delete(`/v1/webhooks/${id}`)).body).toEqual({ data: { id, deleted: true } });
    expect((await api.get('/v1/webhooks')).body).toEqual({ data: [], total: 0 });
    expect((await api.get(`/v1/webhooks/${id}`)).status).toBe(404);
    expect((await api.delete(`/v1/webhooks/${id}`)).status).toBe(404);
  });

  it('has room for so many in each mode and no more, also when they come at once', async () => {
    const { api } = customer;
    const { id } = await app.add(api);
    await app.db.query(
      `insert into webhook_endpoints
       select (jsonb_populate_record(one, jsonb_build_object('id', gen_random_uuid()))).*
       from webhook_endpoints as one, generate_series(1, $2) where id = $1`,
      [id, MAX_ENDPOINTS - 3],
    );
    const fields = { url: URL, events: ['*'] };
    const answers = await Promise.all([1, 2, 3, 4].map(() => api.post('/v1/webhooks', fields)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409]);
    expect((await api.post('/v1/webhooks', fields)).body.error).toEqual({
      code: 'webhook_limit_reached',
      message: `An organization has at most ${MAX_ENDPOINTS} webhooks in each mode`,
    });
    expect((await api.get('/v1/webhooks')).body.total).toBe(MAX_ENDPOINTS);
    await app.add(await customer.key({ mode: 'test' }));
  });

  it('records actor and change, without the address', async () => {
    const { api, organizationId, keyId } = customer;
    const { id } = await app.add(api, { url: `${URL}?token=hidden` });
    const path = `/v1/webhooks/${id}`;
    dataOf(await api.call('PATCH', path, { enabled: true, events: ['sent'] }));
    dataOf(await api.post(`${path}/rotate-secret`));
    const from = new Date(app.clock.now().getTime() - HOUR).toISOString();
    dataOf(await api.post(`${path}/replay`, { from }), 202);
    dataOf(await api.delete(path));
    const entries = await app.app.audit(organizationId);
    const noted = { mode: 'live', host: HOST };
    expect(entries).toEqual(
      [
        ['webhook.created', noted],
        ['webhook.changed', { ...noted, fields: ['events', 'enabled'] }],
        ['webhook.secret_rotated', noted],
        ['webhook.replayed', { ...noted, from }],
        ['webhook.deleted', noted],
      ].map(([action, data]) => ({ actor: keyId, action, target_id: id, data })),
    );
  });

  describe('of others', () => {
    const calls = [
      ['GET', '', undefined],
      ['PATCH', '', { enabled: false }],
      ['DELETE', '', undefined],
      ['POST', '/test', undefined],
      ['POST', '/rotate-secret', undefined],
      ['POST', '/replay', { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' }],
      ['GET', '/deliveries', undefined],
      ['POST', `/deliveries/${newId()}/redeliver`, undefined],
    ] as const;

    it.each(calls)('are not there: %s %s', async (method, action, body) => {
      const { id } = await app.add(customer.api);
      const outsider = await app.customer();
      const domainId = customer.domainId;
      const others = [outsider.api, await customer.key({ mode: 'test' }), await customer.key({ domainId })];
      for (const other of others) {
        const answer = await other.call(method, `/v1/webhooks/${id}${action}`, body);
        expect([answer.status, answer.body.error.message]).toEqual([404, 'Webhook not found']);
      }
      for (const other of others) expect((await other.get('/v1/webhooks')).body.total).toBe(0);
      expect(dataOf(await customer.api.get(`/v1/webhooks/${id}`)).enabled).toBe(true);
      const unknown = await customer.api.call(method, `/v1/webhooks/${newId()}${action}`, body);
      expect(unknown.status).toBe(404);
      expect((await customer.api.call(method, `/v1/webhooks/none${action}`, body)).status).toBe(404);
    });

    it('a key that is bound to a domain makes and sees those of the domain', async () => {
      const bound = await customer.key({ domainId: customer.domainId });
      await app.add(customer.api);
      const added = await app.add(bound);
      expect(added.domainId).toBe(customer.domainId);
      expect((await bound.get('/v1/webhooks')).body.data.map(({ id }: { id: string }) => id)).toEqual([added.id]);
      expect((await customer.api.get('/v1/webhooks')).body.total).toBe(2);
      dataOf(await bound.call('PATCH', `/v1/webhooks/${added.id}`, { enabled: false }));
    });
  });

  it('requires the scopes', async () => {
    const { id } = await app.add(customer.api);
    const reader = await customer.key({ scopes: ['webhook:read'] });
    expect((await reader.get('/v1/webhooks')).status).toBe(200);
    expect((await reader.get(`/v1/webhooks/${id}/deliveries`)).status).toBe(200);
    expect((await reader.delete(`/v1/webhooks/${id}`)).body.error.details).toEqual({ required: 'webhook:manage' });
    const manager = await customer.key({ scopes: ['webhook:manage'] });
    expect((await manager.get('/v1/webhooks')).status).toBe(403);
    expect((await manager.get('/v1/events')).body.error.details).toEqual({ required: 'email:read' });
  });
});
