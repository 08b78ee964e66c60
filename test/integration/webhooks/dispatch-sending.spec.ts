import { createHmac } from 'node:crypto';
import { HOUR, MINUTE, SECOND } from '../../../src/common/clock';
import { firstIdAt, newId } from '../../../src/common/ids';
import { Metrics } from '../../../src/common/metrics/metrics';
import { EventsService } from '../../../src/modules/events/events.service';
import { ExpandEventsJob } from '../../../src/modules/webhooks/dispatch/expand-events.job';
import { type ReceivedWebhook, WebhookReceiver } from '../../doubles/webhook-receiver';
import { DispatchScene } from './dispatch-scene';

let scene: DispatchScene;
let receiver: WebhookReceiver;

beforeAll(async () => {
  scene = await DispatchScene.open();
  receiver = await WebhookReceiver.start();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await scene.clear();
  receiver.received.length = 0;
});

afterAll(async () => {
  await receiver.stop();
  await scene.close();
});

/** As a receiver would write it from the specification, without anything of ours. */
function isSignedBy(secret: Buffer, { headers, body }: ReceivedWebhook): boolean {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const expected = `v1,${createHmac('sha256', secret).update(signed, 'utf8').digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(expected);
}

describe('sending webhooks', () => {
  it('sends an event, signed', async () => {
    const { secret, previousSecret } = await scene.addEndpoint({ url: receiver.url('/a') });
    const emailId = await scene.tell();
    expect(await scene.send()).toBe(1);
    const message = await scene.message();
    expect(message).toMatchObject({ state: 'delivered', attempts: 1, last_status: 200, last_error: null });
    expect(message).toMatchObject({ delivered_at: scene.clock.now(), claimed_until: null });
    const [webhook] = receiver.received as [ReceivedWebhook];
    expect(webhook.headers).toMatchObject({ 'webhook-id': message.id, 'content-type': 'application/json' });
    expect(webhook.headers['user-agent']).toMatch(/^Waybill-Webhooks\//);
    expect(webhook.headers['webhook-timestamp']).toBe(String(Math.floor(scene.clock.now().getTime() / 1_000)));
    expect(isSignedBy(secret, webhook)).toBe(true);
    expect(isSignedBy(previousSecret, webhook)).toBe(false);
    expect(JSON.parse(webhook.body)).toMatchObject({
      type: 'email.queued',
      data: { emailId, eventId: message.id, sequence: 1 },
    });
  });

  it('stores the beginning of the last response, without possible secrets', async () => {
    await scene.addEndpoint({ url: receiver.url() });
    receiver.answer = () => ({
      ...{ status: 503, headers: { 'set-cookie': 'session=s3cret', server: 'nginx', 'x-request-id': 'r-1' } },
      body: `no such user ada@example.com \0${'x'.repeat(5_000)}`,
    });
    await scene.tell();
    await scene.send();
    const { last_answer: answer } = await scene.message();
    expect(answer).toMatchObject({ isCut: true, headers: { server: 'nginx', 'x-request-id': 'r-1' } });
    expect(answer.headers).not.toHaveProperty('set-cookie');
    const beginning = `no such user [address] \uFFFD`;
    // 4 KiB of the response, in which the address was longer than its replacement.
    expect(answer.body).toBe(beginning + 'x'.repeat(4_096 - Buffer.byteLength('no such user ada@example.com \0')));
    receiver.answer = () => 'reset';
    scene.clock.advance(HOUR);
    await scene.send();
    expect(await scene.message()).toMatchObject({
      state: 'pending',
      attempts: 2,
      last_status: null,
      last_answer: null,
    });
    receiver.answer = () => ({ status: 200 });
  });

  it('signs with the secret from before as long as it is valid', async () => {
    const previousUntil = new Date(scene.clock.now().getTime() + HOUR);
    const { secret, previousSecret } = await scene.addEndpoint({ url: receiver.url(), previousUntil });
    await scene.tell();
    await scene.send();
    scene.clock.advance(HOUR);
    await scene.tell(2);
    await scene.send();
    const [during, after] = receiver.received as [ReceivedWebhook, ReceivedWebhook];
    expect([isSignedBy(secret, during), isSignedBy(previousSecret, during)]).toEqual([true, true]);
    expect([isSignedBy(secret, after), isSignedBy(previousSecret, after)]).toEqual([true, false]);
  });

  it('sends the events of each email in their order', async () => {
    await scene.addEndpoint({ url: receiver.url() });
    const emails = await Promise.all([scene.accept(), scene.accept(), scene.accept()]);
    for (const emailId of emails) await scene.addEvents(emailId, 'sending', 'sent', 'delivered', 'opened', 'clicked');
    await scene.expand(18);
    await scene.sendAll();
    for (const emailId of emails) {
      const told = receiver.events().filter((event) => event.emailId === emailId);
      expect(told.map((event) => event.sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    }
    expect(receiver.mostOpen).toBeLessThanOrEqual(5);
  });

  it('sends each endpoint the events it has subscribed to', async () => {
    await scene.addEndpoint({ url: receiver.url('/delivered'), events: ['delivered'] });
    await scene.addEndpoint({ url: receiver.url('/this-domain'), domainId: scene.tenant.domainId });
    await scene.addEndpoint({ url: receiver.url('/other-domain'), domainId: newId() });
    await scene.addEndpoint({ url: receiver.url('/test-mode'), mode: 'test' });
    await scene.addEvents(await scene.accept(), 'delivered');
    await scene.expand(3);
    await scene.sendAll();
    expect(receiver.received.map(({ path }) => path).sort()).toEqual(['/delivered', '/this-domain', '/this-domain']);
  });

  it('sends no events from before the endpoint, and none of other organizations', async () => {
    const before = await scene.accept();
    await scene.addEndpoint({ url: receiver.url() });
    const after = await scene.tell();
    await scene.sendAll();
    expect(receiver.events().map(({ emailId }) => emailId)).toEqual([after]);
    expect(before).not.toBe(after);
  });

  it('shows how long events have waited for a transaction that is still open', async () => {
    await scene.addEndpoint({ url: receiver.url() });
    await scene.accept();
    const begun = new Date(Date.now() - 10 * MINUTE);
    jest.spyOn(scene.core.get(EventsService), 'head').mockResolvedValue(firstIdAt(begun));
    await scene.core.get(ExpandEventsJob).expand();
    expect(await scene.messages()).toEqual([]);
    const lag = scene.core.get(Metrics).registry.getSingleMetricAsString('waybill_webhook_expansion_lag_seconds');
    const waitedMs = scene.clock.now().getTime() - begun.getTime();
    expect(await lag).toContain(`waybill_webhook_expansion_lag_seconds ${waitedMs / SECOND}`);
  });

  it('makes every message once, although several processes look', async () => {
    for (let added = 0; added < 5; added += 1) await scene.addEndpoint({ url: receiver.url(`/${added}`) });
    const other = await scene.startAnother();
    const emailId = await scene.accept();
    await scene.addEvents(emailId, ...Array.from({ length: 250 }, () => 'opened'));
    await Promise.all([scene.expand(5 * 251), scene.expand(5 * 251, other)]);
    expect(await scene.messages()).toHaveLength(5 * 251);
    await Promise.all([scene.sendAll(), scene.sendAll(other)]);
    const ids = receiver.received.map(({ path, headers }) => `${path} ${String(headers['webhook-id'])}`);
    expect(ids).toHaveLength(5 * 251);
    expect(new Set(ids).size).toBe(5 * 251);
  });

  it('sends a test', async () => {
    const { id, secret } = await scene.addEndpoint({ url: receiver.url() });
    await scene.db.query(
      `insert into webhook_messages (organization_id, mode, endpoint_id, id, event_type, state, next_attempt_at, created_at)
       values ($1, 'live', $2, $3, 'webhook.test', 'pending', $4, $4)`,
      [scene.tenant.organizationId, id, newId(), scene.clock.now()],
    );
    await scene.send();
    const [webhook] = receiver.received as [ReceivedWebhook];
    expect(JSON.parse(webhook.body)).toMatchObject({ type: 'webhook.test', data: { webhookId: id } });
    expect(isSignedBy(secret, webhook)).toBe(true);
  });

  it('ends messages that it can no longer send', async () => {
    await scene.addEndpoint({ url: receiver.url() });
    const emailId = await scene.tell();
    await scene.db.query('delete from email_events where email_id = $1', [emailId]);
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'failed', last_error: 'event_gone', attempts: 0 });
    expect(receiver.received).toEqual([]);
    const metrics = await scene.core.get(Metrics).registry.metrics();
    expect(metrics).toContain('waybill_webhook_attempts_total{result="event_gone"} 1');
  });

  it('sends nothing to a disabled endpoint, and ends its waiting messages', async () => {
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    await scene.db.query('update webhook_endpoints set enabled = false where id = $1', [id]);
    expect(await scene.send()).toBe(0);
    await scene.sweep().endOfDisabled();
    expect(await scene.message()).toMatchObject({ state: 'failed', last_error: 'endpoint_disabled' });
  });

  it('sends messages again that a dead process had claimed', async () => {
    await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    const claimedUntil = new Date(scene.clock.now().getTime() + MINUTE);
    await scene.db.query(`update webhook_messages set state = 'sending', attempts = 1, claimed_until = $1`, [
      claimedUntil,
    ]);
    await scene.sweep().freeOrphanedClaims();
    expect(await scene.send()).toBe(0);
    scene.clock.advance(MINUTE + 1);
    await scene.sweep().freeOrphanedClaims();
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  it('sends again what a dead process had claimed before the clock was set back', async () => {
    await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    const claimedUntil = new Date(scene.clock.now().getTime() + HOUR);
    await scene.db.query(`update webhook_messages set state = 'sending', attempts = 1, claimed_until = $1`, [
      claimedUntil,
    ]);
    await scene.sweep().freeOrphanedClaims();
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  it.each([
    ['sign', `secret = '\\x00'`],
    ['address', `url = 'nowhere'`],
  ])('postpones messages that it cannot %s, without counting a failure', async (_what, broken) => {
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    await scene.db.query(`update webhook_endpoints set ${broken} where id = $1`, [id]);
    await scene.tell();
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'pending', attempts: 0, last_error: null });
    expect((await scene.endpoint(id)).failing_since).toBeNull();
    expect(receiver.received).toEqual([]);
  });
});
