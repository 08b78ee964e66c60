import { HOUR } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { insertEvents } from '../../factories/feed-events';
import { addDomain } from '../../factories/tenants';
import { waitFor } from '../../setup/wait-for';
import type { ApiClient } from '../../e2e/kit/api-client';
import { type Customer, dataOf, problemsOf, WebhooksApp } from './webhooks-app';

describe('GET /v1/events', () => {
  let app: WebhooksApp;
  let customer: Customer;

  beforeAll(async () => (app = await WebhooksApp.start()));
  beforeEach(async () => (customer = await app.customer()));
  afterAll(() => app.close());

  const idsOf = (body: any): string[] => body.data.map((event: any) => event.data.eventId);

  /** Every page, until there is no more. */
  async function pull(api: ApiClient, query = 'limit=2', after?: string): Promise<{ pages: string[][]; next: string }> {
    const pages: string[][] = [];
    let next = after;
    for (;;) {
      const { status, body } = await api.get(`/v1/events?${query}${next ? `&after=${next}` : ''}`);
      expect(status).toBe(200);
      pages.push(idsOf(body));
      next = body.pagination.nextCursor as string;
      if (!body.pagination.hasMore) return { pages, next };
    }
  }

  it('shows the same events as webhooks get', async () => {
    const fields = { tags: ['receipt'], metadata: { order: 7 } };
    const { emailId, eventIds } = await insertEvents(app.db, customer, ['delivered'], fields);
    const { body } = await customer.api.get('/v1/events');
    expect(body).toEqual({
      data: [
        {
          type: 'email.delivered',
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          data: {
            ...{ eventId: eventIds[0], emailId, domainId: customer.domainId, sequence: 1, eventType: 'delivered' },
            ...{ source: 'smtp', recipient: 'r@x.example', ...fields },
          },
        },
      ],
      pagination: { limit: 100, hasMore: false, nextCursor: eventIds[0] },
    });
  });

  it('shows an email that was sent over the API', async () => {
    const id = await customer.api.send();
    const read = async () => (await customer.api.get('/v1/events')).body.data;
    // An older transaction that is still open, of a job, say, holds the feed back.
    await waitFor(async () => (await read()).length > 0, { what: 'the event' });
    expect(await read()).toMatchObject([{ type: 'email.queued', data: { emailId: id, sequence: 1, source: 'api' } }]);
  });

  it('goes from page to page and on from the end', async () => {
    const first = await insertEvents(app.db, customer, ['queued', 'sending', 'sent']);
    const second = await insertEvents(app.db, customer, ['queued', 'sending']);
    // Those of one millisecond are in the order of their ids, whichever email they are of.
    const all = [...first.eventIds, ...second.eventIds].sort();
    const { pages, next } = await pull(customer.api);
    expect(pages).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
    expect((await pull(customer.api, 'limit=2', next)).pages).toEqual([[]]);
    const { eventIds } = await insertEvents(app.db, customer, ['queued']);
    expect((await pull(customer.api, 'limit=2', next)).pages).toEqual([eventIds]);
    // Any event's id is a cursor.
    expect((await pull(customer.api, 'limit=100', all[3]!.toUpperCase())).pages).toEqual([[all[4], ...eventIds]]);
  });

  it('goes back from the newest, past what is recorded meanwhile, and on from there', async () => {
    const first = await insertEvents(app.db, customer, ['queued', 'sending', 'sent']);
    const second = await insertEvents(app.db, customer, ['queued', 'sending']);
    const all = [...first.eventIds, ...second.eventIds].sort().toReversed();
    const { body } = await customer.api.get('/v1/events?order=desc&limit=2');
    expect(idsOf(body)).toEqual(all.slice(0, 2));
    const { eventIds } = await insertEvents(app.db, customer, ['opened']);
    const rest = await pull(customer.api, 'order=desc&limit=2', body.pagination.nextCursor);
    expect(rest.pages).toEqual([all.slice(2, 4), all.slice(4)]);
    expect((await pull(customer.api, 'order=desc', rest.next)).pages).toEqual([[]]);
    expect((await pull(customer.api, 'limit=2', all[0])).pages).toEqual([eventIds]);
    // Beyond the newest.
    const last = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    expect((await pull(customer.api, 'order=desc', last)).pages).toEqual([[...eventIds, ...all]]);
  });

  it.each(['limit=2', 'order=desc', 'from=2026-11-01T00:00:00Z'])(
    'has a cursor before there is any event (%s)',
    async (query) => {
      const { pages, next } = await pull(customer.api, query);
      expect(pages).toEqual([[]]);
      const { eventIds } = await insertEvents(app.db, customer, ['queued']);
      expect((await pull(customer.api, 'limit=2', next)).pages).toEqual([eventIds]);
    },
  );

  it('begins at a time', async () => {
    const ago = (ms: number) => new Date(app.clock.now().getTime() - ms);
    await insertEvents(app.db, customer, ['queued'], { recordedAt: ago(HOUR + 1) });
    const { eventIds } = await insertEvents(app.db, customer, ['sent'], { recordedAt: ago(HOUR) });
    expect((await pull(customer.api, `from=${ago(HOUR).toISOString()}`)).pages).toEqual([eventIds]);
  });

  it('shows nothing of other organizations and the other mode', async () => {
    await insertEvents(app.db, await app.customer(), ['queued']);
    const test = await insertEvents(app.db, customer, ['queued'], { mode: 'test' });
    const live = await insertEvents(app.db, customer, ['queued']);
    expect((await pull(customer.api)).pages).toEqual([live.eventIds]);
    expect((await pull(await customer.key({ mode: 'test' }))).pages).toEqual([test.eventIds]);
  });

  it("shows a key that is bound to a domain this one's, and moves past the others", async () => {
    const domainId = await addDomain(app.db, customer.organizationId);
    const bound = await customer.key({ domainId });
    const first = await insertEvents(app.db, customer, ['queued', 'sent', 'delivered'], { domainId });
    for (let n = 0; n < 4; n += 1) await insertEvents(app.db, customer, Array(500).fill('opened'));
    const last = await insertEvents(app.db, customer, ['queued'], { domainId });
    const { pages } = await pull(bound);
    expect(pages.flat()).toEqual([...first.eventIds, ...last.eventIds]);
    // Two pages of its own, then at most a thousand events each.
    expect(pages.map((page) => page.length)).toEqual([2, 1, 0, 1]);
    expect((await pull(bound, 'order=desc&limit=2')).pages.flat()).toEqual(pages.flat().toReversed());
    const other = await customer.key({ domainId: customer.domainId });
    expect(idsOf((await other.get('/v1/events?limit=1')).body)).toHaveLength(1);
  });

  it('skips events whose email is deleted', async () => {
    const gone = await insertEvents(app.db, customer, Array(5).fill('opened'));
    const { eventIds } = await insertEvents(app.db, customer, ['queued']);
    await app.db.query('delete from emails where id = $1', [gone.emailId]);
    expect((await pull(customer.api)).pages).toEqual([eventIds]);
  });

  it.each(['after=none', `from=yesterday`, 'limit=0', 'limit=101', 'cursor=a', 'order=up'])(
    'refuses %s',
    async (query) => {
      const problems = problemsOf(await customer.api.get(`/v1/events?${query}`));
      expect(Object.keys(problems as object)).toEqual([query.split('=')[0]]);
    },
  );

  it('refuses two beginnings', async () => {
    const answer = await customer.api.get(`/v1/events?after=${newId()}&from=2026-11-01`);
    expect(problemsOf(answer)).toEqual({ from: ['from must not be given with after'] });
    const back = await customer.api.get('/v1/events?order=desc&from=2026-11-01');
    expect(problemsOf(back)).toEqual({ from: ['from must not be given with order=desc'] });
    expect(dataOf(await customer.api.get(`/v1/events?after=${newId()}`))).toEqual([]);
  });
});
