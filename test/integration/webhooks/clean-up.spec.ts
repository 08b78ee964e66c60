import { DAY, HOUR } from '../../../src/common/clock';
import { WebhookMessagesRepository } from '../../../src/modules/webhooks/queue/webhook-messages.repository';
import { CleanUpWebhooksJob } from '../../../src/modules/webhooks/queue/webhooks.job';
import { insertEvents } from '../../factories/feed-events';
import type { Core } from '../../setup/core-context';
import { waitFor } from '../../setup/wait-for';
import { startWorker } from '../../setup/worker-context';
import { type Customer, dataOf, WebhooksApp } from './webhooks-app';

describe('the cleaning up of webhooks', () => {
  let app: WebhooksApp;
  let worker: Core;
  let customer: Customer;

  beforeAll(async () => {
    app = await WebhooksApp.start();
    worker = await startWorker(app.db.url, { clock: app.clock, hopPort: 9, isRunning: false });
    customer = await app.customer();
  });
  afterAll(async () => {
    await worker.close();
    await app.close();
  });

  const cleanUp = () => worker.get(CleanUpWebhooksJob).cleanUp();
  const insert = (endpointId: string, count: number, ageMs: number, state = 'delivered') =>
    app.db.query(
      `insert into webhook_messages (organization_id, mode, endpoint_id, id, event_type, state, next_attempt_at, created_at)
       select $1, 'live', $2, gen_random_uuid(), 'sent', $5, $4, $4 from generate_series(1, $3)`,
      [customer.organizationId, endpointId, count, new Date(app.clock.now().getTime() - ageMs), state],
    );

  it('forgets messages after 30 days, however many there are', async () => {
    const { id } = await app.add(customer.api);
    await insert(id, 4_100, 30 * DAY + 1);
    await insert(id, 3, 30 * DAY - HOUR);
    await cleanUp();
    expect(await app.messages(id)).toHaveLength(3);
  });

  it('deletes the messages of webhooks that are gone, also when several processes do', async () => {
    const [kept, first, second] = [
      await app.add(customer.api),
      await app.add(customer.api),
      await app.add(customer.api),
    ];
    for (const { id } of [kept, first, second]) await insert(id, 2_500, HOUR);
    for (const { id } of [first, second]) dataOf(await customer.api.delete(`/v1/webhooks/${id}`));
    await Promise.all([cleanUp(), cleanUp()]);
    const left = [kept, first, second].map(async ({ id }) => (await app.messages(id)).length);
    expect(await Promise.all(left)).toEqual([2_500, 0, 0]);
    expect(await app.db.query('select * from webhook_removals')).toEqual([]);
  });

  it('is not waited for by the metrics: messages of a webhook that is gone wait for nothing', async () => {
    const measure = () => worker.get(WebhookMessagesRepository).measure(app.clock.now());
    const [kept, gone] = [await app.add(customer.api), await app.add(customer.api)];
    await insert(kept.id, 2, HOUR, 'pending');
    await insert(gone.id, 3, 2 * HOUR, 'pending');
    expect(await measure()).toMatchObject({ pending: 5, oldestDueSeconds: 7_200 });
    dataOf(await customer.api.delete(`/v1/webhooks/${gone.id}`));
    expect(await measure()).toMatchObject({ pending: 2, oldestDueSeconds: 3_600 });
  });

  it('is not judged by an endpoint that fails, unless nothing has been sent since', async () => {
    const oldestDue = async () =>
      (await worker.get(WebhookMessagesRepository).measure(app.clock.now())).oldestDueSeconds;
    const ago = (ms: number) => new Date(app.clock.now().getTime() - ms);
    const set = (id: string, column: 'failing_since' | 'last_success_at', at: Date) =>
      app.db.query(`update webhook_endpoints set ${column} = $2 where id = $1`, [id, at]);
    await app.db.query('delete from webhook_messages');
    const [failing, other] = [await app.add(customer.api), await app.add((await app.customer()).api)];
    await insert(failing.id, 2, HOUR, 'pending');
    await set(failing.id, 'failing_since', ago(HOUR));
    expect(await oldestDue()).toBe(3_600);
    await set(other.id, 'last_success_at', ago(2 * HOUR));
    expect(await oldestDue()).toBe(3_600);
    await set(other.id, 'last_success_at', ago(0));
    expect(await oldestDue()).toBe(0);
    const served = await app.add(customer.api);
    await insert(served.id, 1, HOUR / 2, 'pending');
    expect(await oldestDue()).toBe(1_800);
    await app.db.query('delete from webhook_messages');
  });

  it('forgets secrets that have run out', async () => {
    const { id } = await app.add(customer.api);
    dataOf(await customer.api.post(`/v1/webhooks/${id}/rotate-secret`));
    app.clock.advance(24 * HOUR);
    await cleanUp();
    expect((await app.endpoint(id)).previous_secret).not.toBeNull();
    app.clock.advance(1);
    await cleanUp();
    expect(await app.endpoint(id)).toMatchObject({ previous_secret: null, previous_secret_until: null });
  });

  it('walks replays in every worker', async () => {
    const { id } = await app.add(customer.api);
    const { eventIds } = await insertEvents(app.db, customer, ['sent']);
    app.clock.set(new Date());
    const from = new Date(app.clock.now().getTime() - HOUR).toISOString();
    dataOf(await customer.api.post(`/v1/webhooks/${id}/replay`, { from }), 202);
    const running = await startWorker(app.db.url, { hopPort: 9 });
    try {
      const made = await waitFor(async () => (await app.messages(id))[0], { what: 'the message of the replay' });
      expect(made.id).toBe(eventIds[0]);
    } finally {
      await running.close();
    }
  });
});
