import { MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { MAX_PENDING, MAX_REQUESTED } from '../../../src/modules/webhooks/queue/webhook-queue';
import { type Customer, dataOf, URL, WebhooksApp } from './webhooks-app';

interface Fields {
  state?: string;
  type?: string;
  emailId?: string | null;
}

describe('/v1/webhooks/{id}/deliveries', () => {
  let app: WebhooksApp;
  let customer: Customer;
  let id: string;

  beforeAll(async () => (app = await WebhooksApp.start()));
  beforeEach(async () => {
    customer = await app.customer();
    ({ id } = await app.add(customer.api));
  });
  afterAll(() => app.close());

  const path = (rest = '') => `/v1/webhooks/${id}/deliveries${rest}`;
  const idsOf = (body: any): string[] => body.data.map((delivery: { id: string }) => delivery.id);

  async function insert({ state = 'delivered', type = 'sent', emailId = newId() }: Fields = {}): Promise<string> {
    const [row] = await app.db.query<{ id: string }>(
      `insert into webhook_messages (
         organization_id, mode, endpoint_id, id, email_id, sequence, event_type, state, attempts, next_attempt_at,
         claimed_until, last_attempt_at, last_status, last_error, delivered_at, created_at
       )
       select $1, 'live', $2, $3, $4, 3, $5, $6, 2, $7, case when $6 = 'sending' then $7::timestamptz end, $7, 503, 'busy',
         case when $6 = 'delivered' then $7::timestamptz end, $7
       returning id`,
      [customer.organizationId, id, newId(), emailId, type, state, app.clock.now()],
    );
    return row!.id;
  }

  it('shows the result of each', async () => {
    const emailId = newId();
    const now = app.clock.now().toISOString();
    const waiting = await insert({ state: 'pending', emailId });
    const arrived = await insert({ emailId });
    const common = { eventType: 'sent', emailId, sequence: 3, attempts: 2, lastAttemptAt: now, createdAt: now };
    expect((await customer.api.get(path())).body).toEqual({
      data: [
        { ...common, id: arrived, state: 'delivered', lastStatus: 503, lastError: 'busy', deliveredAt: now },
        { ...common, id: waiting, state: 'pending', lastStatus: 503, lastError: 'busy', nextAttemptAt: now },
      ],
      pagination: { limit: 50, hasMore: false },
    });
  });

  it('shows one with its request and response, without the signature', async () => {
    const deliveryId = await insert({ type: 'webhook.test', emailId: null });
    const answer = { headers: { server: 'nginx' }, body: '<b>busy</b>', isCut: false, durationMs: 12 };
    await app.db.query('update webhook_messages set last_answer = $2 where id = $1', [deliveryId, answer]);
    const now = app.clock.now();
    const detail = dataOf(await customer.api.get(path(`/${deliveryId}`)));
    expect(detail).toMatchObject({ id: deliveryId, state: 'delivered', lastStatus: 503 });
    expect(detail.answer).toEqual({
      ...{ status: 503, headers: { server: 'nginx' }, body: '<b>busy</b>', truncated: false, durationMs: 12 },
    });
    const { body, ...request } = detail.request;
    expect(request).toEqual({
      url: URL,
      headers: {
        ...{ 'content-type': 'application/json', 'user-agent': 'Waybill-Webhooks/1.0', 'webhook-id': deliveryId },
        'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      },
    });
    expect(JSON.parse(body)).toEqual({
      ...{ type: 'webhook.test', timestamp: now.toISOString(), data: { webhookId: id } },
    });
  });

  it('shows the rest when the event is deleted and there was no response', async () => {
    const detail = dataOf(await customer.api.get(path(`/${await insert()}`)));
    expect(detail.request).not.toHaveProperty('body');
    expect(detail).not.toHaveProperty('answer');
    const other = await app.add(customer.api);
    for (const missing of [detail.id, newId()]) {
      const { status, body } = await customer.api.get(`/v1/webhooks/${other.id}/deliveries/${missing}`);
      expect([status, body.error.message]).toEqual([404, 'Delivery not found']);
    }
  });

  it('goes from page to page, newest first', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift(await insert());
    const pages: string[][] = [];
    let cursor = '';
    for (let more = true; more;) {
      const { body } = await customer.api.get(path(`?limit=2${cursor}`));
      pages.push(idsOf(body));
      more = body.pagination.hasMore;
      cursor = `&cursor=${body.pagination.nextCursor}`;
    }
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  });

  it('filters by state and event type', async () => {
    const failed = await insert({ state: 'failed' });
    const bounced = await insert({ state: 'failed', type: 'bounced' });
    await insert();
    expect(idsOf((await customer.api.get(path('?state=failed'))).body)).toEqual([bounced, failed]);
    expect(idsOf((await customer.api.get(path('?state=failed&eventType=bounced'))).body)).toEqual([bounced]);
    expect(idsOf((await customer.api.get(path('?eventType=webhook.test'))).body)).toEqual([]);
  });

  it('shows those of the webhook alone', async () => {
    await insert();
    const other = await app.add(customer.api);
    expect(idsOf((await customer.api.get(`/v1/webhooks/${other.id}/deliveries`)).body)).toEqual([]);
  });

  it('sends a test', async () => {
    const { deliveryId } = dataOf(await customer.api.post(`/v1/webhooks/${id}/test`), 202);
    const now = app.clock.now().toISOString();
    expect((await customer.api.get(path())).body.data).toEqual([
      { id: deliveryId, eventType: 'webhook.test', state: 'pending', attempts: 0, nextAttemptAt: now, createdAt: now },
    ]);
  });

  it.each(['delivered', 'failed', 'pending'])('delivers a %s message again', async (state) => {
    const deliveryId = await insert({ state });
    const before = await app.messages(id);
    app.clock.advance(MINUTE);
    expect(dataOf(await customer.api.post(path(`/${deliveryId}/redeliver`)), 202)).toEqual({ deliveryId });
    const now = app.clock.now();
    const anew = { state: 'pending', attempts: 0, next_attempt_at: now, delivered_at: null, created_at: now };
    expect(await app.messages(id)).toEqual([{ ...before[0], ...anew }]);
  });

  it('queues no more than may wait, and tests an endpoint with a full backlog of events', async () => {
    const waiting = (count: number) =>
      app.db.query(
        `insert into webhook_messages (
           organization_id, mode, endpoint_id, id, email_id, sequence, event_type, state, next_attempt_at, created_at
         )
         select $1, 'live', $2, gen_random_uuid(), gen_random_uuid(), 1, 'sent', 'pending', $3, $3
         from generate_series(1, $4::int)`,
        [customer.organizationId, id, app.clock.now(), count],
      );
    const delivered = await insert();
    const pending = await insert({ state: 'pending' });
    await waiting(MAX_PENDING + MAX_REQUESTED - 2);
    dataOf(await customer.api.post(`/v1/webhooks/${id}/test`), 202);
    for (const action of [`/v1/webhooks/${id}/test`, path(`/${delivered}/redeliver`)]) {
      const { status, body } = await customer.api.post(action);
      expect([status, body.error.code]).toEqual([409, 'webhook_queue_full']);
    }
    dataOf(await customer.api.post(path(`/${pending}/redeliver`)), 202);
    const other = await app.add(customer.api);
    dataOf(await customer.api.post(`/v1/webhooks/${other.id}/test`), 202);
  });

  it('lets an attempt in progress finish, and begins again if that fails', async () => {
    const deliveryId = await insert({ state: 'sending' });
    const before = await app.messages(id);
    app.clock.advance(MINUTE);
    dataOf(await customer.api.post(path(`/${deliveryId}/redeliver`)), 202);
    const now = app.clock.now();
    expect(await app.messages(id)).toEqual([{ ...before[0], attempts: 0, next_attempt_at: now, created_at: now }]);
  });

  it('sends nothing from before to a webhook that is disabled and enabled again', async () => {
    await insert({ state: 'pending' });
    for (const enabled of [false, true]) await customer.api.call('PATCH', `/v1/webhooks/${id}`, { enabled });
    const ended = { state: 'failed', last_error: 'endpoint_disabled' };
    expect(await app.messages(id)).toEqual([expect.objectContaining(ended)]);
  });

  it('returns 404 for a delivery of another webhook', async () => {
    const deliveryId = await insert();
    const other = await app.add(customer.api);
    for (const missing of [deliveryId, newId(), 'none']) {
      const answer = await customer.api.post(`/v1/webhooks/${other.id}/deliveries/${missing}/redeliver`);
      expect([answer.status, answer.body.error.message]).toEqual([404, 'Delivery not found']);
    }
  });

  it('sends nothing to a webhook that is disabled', async () => {
    const deliveryId = await insert();
    dataOf(await customer.api.call('PATCH', `/v1/webhooks/${id}`, { enabled: false }));
    const replay = { from: app.clock.now().toISOString(), to: new Date(app.clock.now().getTime() + 1).toISOString() };
    for (const [action, body] of [
      [`/v1/webhooks/${id}/test`, undefined],
      [path(`/${deliveryId}/redeliver`), undefined],
      [`/v1/webhooks/${id}/replay`, replay],
    ] as const) {
      const { status, body: answer } = await customer.api.post(action, body);
      expect([status, answer.error.code]).toEqual([409, 'webhook_disabled']);
    }
    expect(await app.messages(id)).toHaveLength(1);
  });
});
