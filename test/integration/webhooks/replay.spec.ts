import { DAY, HOUR } from '../../../src/common/clock';
import { EventsService } from '../../../src/modules/events/events.service';
import { ReplayWebhooksJob } from '../../../src/modules/webhooks/deliveries/replay-webhooks.job';
import { insertEvents } from '../../factories/feed-events';
import { addDomain } from '../../factories/tenants';
import type { Core } from '../../setup/core-context';
import { startWorker } from '../../setup/worker-context';
import { type Customer, dataOf, WebhooksApp } from './webhooks-app';

describe('a replay', () => {
  let app: WebhooksApp;
  let worker: Core;
  let customer: Customer;

  beforeAll(async () => {
    app = await WebhooksApp.start();
    worker = await startWorker(app.db.url, { clock: app.clock, hopPort: 9, isRunning: false });
  });
  beforeEach(async () => (customer = await app.customer()));
  afterEach(() => app.db.query('delete from webhook_replays'));
  afterAll(async () => {
    await worker.close();
    await app.close();
  });

  const walk = (core = worker) => core.get(ReplayWebhooksJob).run();
  const ago = (ms: number) => new Date(app.clock.now().getTime() - ms);
  const replay = (id: string, from: Date, to?: Date, api = customer.api) =>
    api.post(`/v1/webhooks/${id}/replay`, { from: from.toISOString(), ...(to && { to: to.toISOString() }) });
  const replayed = async (id: string) => (await app.messages(id)).map((message) => message.id as string);
  const settle = (id: string, state: string) =>
    app.db.query(
      "update webhook_messages set state = $2, attempts = 4, created_at = now() - interval '1 day' where id = $1",
      [id, state],
    );

  it('makes deliveries of the events of its span', async () => {
    const { id } = await app.add(customer.api);
    const [before, first, last, after] = [
      await insertEvents(app.db, customer, ['sent'], { recordedAt: ago(3 * HOUR + 1) }),
      await insertEvents(app.db, customer, ['sent', 'delivered'], { recordedAt: ago(3 * HOUR) }),
      await insertEvents(app.db, customer, ['opened'], { recordedAt: ago(2 * HOUR + 1) }),
      await insertEvents(app.db, customer, ['clicked'], { recordedAt: ago(2 * HOUR) }),
    ];
    const { status, body } = await replay(id, ago(3 * HOUR), ago(2 * HOUR));
    expect([status, body]).toEqual([202, { data: { id, replay: 'started' } }]);
    expect(await replayed(id)).toEqual([]);
    await walk();
    const expected = [...first.eventIds, ...last.eventIds];
    expect(await replayed(id)).toEqual(expected);
    expect(expected).not.toEqual(expect.arrayContaining([before.eventIds[0], after.eventIds[0]]));
    const now = app.clock.now();
    expect((await app.messages(id))[1]).toMatchObject({
      ...{ mode: 'live', email_id: first.emailId, sequence: 2, event_type: 'delivered' },
      ...{ state: 'pending', attempts: 0, next_attempt_at: now, created_at: now },
    });
    expect(await app.db.query('select * from webhook_replays')).toEqual([]);
  });

  it('sends ended messages again, and lets an attempt in progress finish', async () => {
    const { id } = await app.add(customer.api);
    const types = ['sent', 'delivered', 'opened'];
    const { eventIds } = await insertEvents(app.db, customer, types, { recordedAt: ago(HOUR) });
    await replay(id, ago(2 * HOUR));
    await walk();
    for (const [n, state] of ['delivered', 'failed', 'sending'].entries()) await settle(eventIds[n]!, state);
    dataOf(await replay(id, ago(2 * HOUR)), 202);
    await walk();
    const states = (await app.messages(id)).map(({ state, attempts }) => [state, attempts]);
    expect(states).toEqual([
      ['pending', 0],
      ['pending', 0],
      ['sending', 0],
    ]);
  });

  it('contains only the subscribed events', async () => {
    const bound = await customer.key({ domainId: customer.domainId });
    const { id } = await app.add(bound, { events: ['delivered'] });
    const at = { recordedAt: ago(HOUR) };
    const { eventIds } = await insertEvents(app.db, customer, ['sent', 'delivered'], at);
    const domainId = await addDomain(app.db, customer.organizationId);
    await insertEvents(app.db, customer, ['delivered'], { ...at, domainId });
    await insertEvents(app.db, customer, ['delivered'], { ...at, mode: 'test' });
    await insertEvents(app.db, await app.customer(), ['delivered'], at);
    dataOf(await replay(id, ago(2 * HOUR), undefined, bound), 202);
    await walk();
    expect(await replayed(id)).toEqual([eventIds[1]]);
  });

  it('continues page by page, also with several processes', async () => {
    const { id } = await app.add(customer.api);
    for (let n = 0; n < 4; n += 1) {
      await insertEvents(app.db, customer, Array(300).fill('opened'), { recordedAt: ago(HOUR - n) });
    }
    dataOf(await replay(id, ago(2 * HOUR)), 202);
    await Promise.all([walk(), walk(), walk()]);
    expect(await replayed(id)).toHaveLength(1_200);
    expect(await app.db.query('select * from webhook_replays')).toEqual([]);
  });

  it('waits while the webhook has enough to be sent, or is disabled', async () => {
    const { id } = await app.add(customer.api);
    const { eventIds } = await insertEvents(app.db, customer, ['sent'], { recordedAt: ago(HOUR) });
    dataOf(await replay(id, ago(2 * HOUR)), 202);
    await app.db.query(
      `insert into webhook_messages (organization_id, mode, endpoint_id, id, event_type, state, next_attempt_at, created_at)
       select $1, 'live', $2, gen_random_uuid(), 'sent', 'pending', now(), now() from generate_series(1, 5000)`,
      [customer.organizationId, id],
    );
    await walk();
    expect(await replayed(id)).toHaveLength(5_000);
    await app.db.query("update webhook_messages set state = 'delivered' where endpoint_id = $1", [id]);
    await app.db.query('update webhook_endpoints set enabled = false where id = $1', [id]);
    await walk();
    expect(await replayed(id)).toHaveLength(5_000);
    await app.db.query('update webhook_endpoints set enabled = true where id = $1', [id]);
    await walk();
    expect(await replayed(id)).toEqual(expect.arrayContaining(eventIds));
  });

  it('is one at a time', async () => {
    const { id } = await app.add(customer.api);
    dataOf(await replay(id, ago(DAY)), 202);
    const { status, body } = await replay(id, ago(DAY));
    expect([status, body.error.code]).toEqual([409, 'webhook_replay_in_progress']);
    await walk();
    dataOf(await replay(id, ago(DAY)), 202);
  });

  it('ends with its webhook', async () => {
    const { id } = await app.add(customer.api);
    await insertEvents(app.db, customer, ['sent'], { recordedAt: ago(HOUR) });
    dataOf(await replay(id, ago(2 * HOUR)), 202);
    dataOf(await customer.api.delete(`/v1/webhooks/${id}`));
    expect(await app.db.query('select * from webhook_replays')).toEqual([]);
    await walk();
    expect(await replayed(id)).toEqual([]);
  });

  it('makes nothing when the webhook goes in the middle of a step', async () => {
    const { id } = await app.add(customer.api);
    await insertEvents(app.db, customer, ['sent'], { recordedAt: ago(HOUR) });
    dataOf(await replay(id, ago(2 * HOUR)), 202);
    const feed = worker.get(EventsService);
    const read = feed.readAfter.bind(feed);
    const spy = jest.spyOn(feed, 'readAfter').mockImplementationOnce(async (...args) => {
      dataOf(await customer.api.delete(`/v1/webhooks/${id}`));
      return read(...args);
    });
    await walk();
    expect(spy).toHaveBeenCalledTimes(1);
    spy.mockRestore();
    expect(await replayed(id)).toEqual([]);
  });
});
