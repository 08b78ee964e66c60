import { EVENT_TYPES } from '../../../src/common/event-types';
import { type Customer, dataOf, problemsOf, URL, WebhooksApp } from './webhooks-app';

const NOT_PUBLIC = 'url cannot be used: the host must exist and have public addresses only';

describe('the rules for a webhook', () => {
  let app: WebhooksApp;
  let customer: Customer;
  let id: string;

  beforeAll(async () => {
    app = await WebhooksApp.start();
    customer = await app.customer();
    ({ id } = await app.add(customer.api));
  });
  afterAll(() => app.close());

  const add = (fields: object) => customer.api.post('/v1/webhooks', { url: URL, events: ['*'], ...fields });
  const change = (fields: object) => customer.api.call('PATCH', `/v1/webhooks/${id}`, fields);

  it.each([
    [{ url: undefined }, { url: ['url must be a string'] }],
    [{ url: 7 }, { url: ['url must be a string'] }],
    [{ url: 'http://hooks.example.com/' }, { url: ['url must begin with https://'] }],
    [{ url: 'http://127.0.0.1:8080/' }, { url: ['url must begin with https://'] }],
    [{ url: 'https://a:b@hooks.example.com/' }, { url: ['url must not hold credentials'] }],
    [{ url: 'https://hooks.example.com/#a' }, { url: ['url must not have a fragment'] }],
    [{ url: 'https://hooks.example.com:22/' }, { url: ['url must use port 443, or one from 1024 on'] }],
    [{ url: `${URL}/${'a'.repeat(2_048)}` }, { url: ['url must be a URL of at most 2,048 characters'] }],
    [{ url: 'https://127.0.0.1/' }, { url: [NOT_PUBLIC] }],
    [{ url: 'https://2130706433/' }, { url: [NOT_PUBLIC] }],
    [{ url: 'https://[::ffff:10.0.0.1]/' }, { url: [NOT_PUBLIC] }],
    [{ url: 'https://localhost/' }, { url: [NOT_PUBLIC] }],
    [{ events: undefined }, { events: expect.arrayContaining(['events must be an array']) }],
    [{ events: 'sent' }, { events: expect.arrayContaining(['events must be an array']) }],
    [{ events: [] }, { events: ['events must not be empty'] }],
    [{ events: ['sent', 'sent'] }, { events: ['events must name nothing twice'] }],
    [{ events: ['posted'] }, { events: [expect.stringMatching(/^each value in events must be one of .*sent.*\*$/)] }],
    [{ events: ['email.sent'] }, { events: [expect.stringContaining('must be one of')] }],
    [{ events: [['sent']] }, { events: [expect.stringContaining('must be one of')] }],
    [{ events: Array(33).fill('sent') }, { events: ['events must contain no more than 32 elements'] }],
    [{ description: 'a'.repeat(256) }, { description: ['description must have at most 255 characters'] }],
    [{ description: {} }, { description: expect.arrayContaining(['description must be a string']) }],
    [{ enabled: 'yes' }, { enabled: ['enabled must be true or false'] }],
    [{ secret: 'mine' }, { secret: ['secret is not a known field'] }],
  ])('refuses %j', async (fields, problems) => {
    expect(problemsOf(await add(fields))).toEqual(problems);
    const isMissing = Object.values(fields).every((value) => value === undefined);
    if (!isMissing) expect(problemsOf(await change(fields))).toEqual(problems);
  });

  it('looks no name up: where it leads counts when something is sent', async () => {
    const before = app.app.dns.queries.length;
    for (const host of ['private.example.com', 'gone.example.com', 'metadata.internal']) {
      const { id: added } = dataOf(await add({ url: `https://${host}/` }), 201);
      expect(dataOf(await change({ url: `https://${host}/x` })).url).toBe(`https://${host}/x`);
      dataOf(await customer.api.delete(`/v1/webhooks/${added}`));
    }
    expect(app.app.dns.queries.length).toBe(before);
  });

  it('takes all types at once, and an empty change', async () => {
    const all = [...EVENT_TYPES, '*'];
    expect(dataOf(await change({ events: all })).events).toEqual(all);
    expect(dataOf(await change({})).events).toEqual(all);
  });

  it.each([
    [{}, { from: ['from must be an ISO 8601 timestamp with an offset, or a date, in the years 1970 to 2999'] }],
    [
      { from: '2026-11-01T00:00:00' },
      { from: ['from must be an ISO 8601 timestamp with an offset, or a date, in the years 1970 to 2999'] },
    ],
    [{ from: '2026-11-02', to: '2026-11-02' }, { from: ['from must be before to, which is now by default'] }],
    [{ from: '2999-01-01' }, { from: ['from must be before to, which is now by default'] }],
    [{ from: '2026-01-01', to: '2026-02-01' }, { from: ['from and to must be at most 30 days apart'] }],
    [{ from: '2026-01-01', until: '2026-01-02' }, { until: ['until is not a known field'] }],
  ])('refuses the replay %j', async (body, problems) => {
    expect(problemsOf(await customer.api.post(`/v1/webhooks/${id}/replay`, body))).toEqual(problems);
  });

  it.each(['state=done', 'eventType=posted', 'limit=0', 'limit=101', 'cursor=none', 'page=2'])(
    'refuses to list deliveries by %s',
    async (query) => {
      const answer = await customer.api.get(`/v1/webhooks/${id}/deliveries?${query}`);
      expect(Object.keys(problemsOf(answer) as object)).toEqual([query.split('=')[0]]);
    },
  );

  it('takes this machine where that is allowed', async () => {
    const open = await WebhooksApp.start({ WEBHOOK_ALLOW_PRIVATE: 'true' });
    const { api } = await open.customer();
    for (const url of ['http://127.0.0.1:8080/', 'http://localhost:8080/', 'https://[::1]/']) {
      await open.add(api, { url });
    }
    const answer = await api.post('/v1/webhooks', { url: 'https://10.0.0.1/', events: ['*'] });
    expect(problemsOf(answer)).toEqual({ url: [NOT_PUBLIC] });
    await open.close();
  });
});
