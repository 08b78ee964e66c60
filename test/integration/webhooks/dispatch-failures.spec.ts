import { DAY, HOUR, MINUTE, SECOND } from '../../../src/common/clock';
import { UnavailableError } from '../../../src/common/errors/app-error';
import type { Principal } from '../../../src/common/http/principal';
import { newId } from '../../../src/common/ids';
import { Database } from '../../../src/database/pool/database.service';
import { AttemptSettler } from '../../../src/modules/webhooks/dispatch/attempt-settler.service';
import type { WebhookMessage } from '../../../src/modules/webhooks/queue/webhook.entity';
import { WebhookMessagesRepository } from '../../../src/modules/webhooks/queue/webhook-messages.repository';
import { WebhooksService } from '../../../src/modules/webhooks/endpoints/webhooks.service';
import { WebhookReceiver } from '../../doubles/webhook-receiver';
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
  receiver.answer = () => ({ status: 200 });
});

afterAll(async () => {
  await receiver.stop();
  await scene.close();
});

const inMs = (ms: number) => new Date(scene.clock.now().getTime() + ms);

/** As “Send again” of the console does. */
async function renew(): Promise<void> {
  const { organization_id: organizationId, mode, endpoint_id: endpointId, ...message } = await scene.message();
  const messages = [{ ...message, emailId: message.email_id, eventType: message.event_type } as WebhookMessage];
  await scene.core
    .get(Database)
    .transaction((tx) =>
      scene.core
        .get(WebhookMessagesRepository)
        .renew({ organizationId, mode, id: endpointId }, messages, scene.clock.now(), tx),
    );
}

async function auditOf(endpointId: string): Promise<Record<string, any>[]> {
  return scene.db.query('select actor, action, target_type, data from audit_log where target_id = $1', [endpointId]);
}

describe('a failing receiver', () => {
  it('is tried ten times in more than a day, then no more', async () => {
    receiver.answer = () => ({ status: 503 });
    await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    const begun = scene.clock.now();
    const gaps: number[] = [];
    for (let message = await scene.message(); message.state === 'pending'; message = await scene.message()) {
      gaps.push(message.next_attempt_at.getTime() - scene.clock.now().getTime());
      scene.clock.set(message.next_attempt_at);
      expect(await scene.send()).toBe(1);
    }
    expect(await scene.message()).toMatchObject({
      state: 'failed',
      attempts: 10,
      last_status: 503,
      last_error: 'exhausted: HTTP status 503',
    });
    expect(receiver.received).toHaveLength(10);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10);
    expect(scene.clock.now().getTime() - begun.getTime()).toBeGreaterThan(DAY);
    [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR].forEach((gap, attempt) => {
      expect(Math.abs((gaps[attempt] ?? Infinity) - gap)).toBeLessThanOrEqual(gap * 0.15);
    });
  });

  it.each([
    ['fails', { status: 503 }, { state: 'pending', attempts: 0 }],
    ['has no further attempt', { status: 410 }, { state: 'pending', attempts: 0 }],
    ['succeeds', { status: 204 }, { state: 'delivered', attempts: 1 }],
  ])('is sent again at once when a client requested it during an attempt that %s', async (_, answer, expected) => {
    receiver.answer = () => ({ status: 503 });
    await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    await scene.send();
    scene.clock.set((await scene.message()).next_attempt_at);
    // Requested while the second attempt waits for its response: without it the third came after five minutes.
    receiver.answer = async () => {
      await renew();
      return answer;
    };
    await scene.send();
    const now = scene.clock.now();
    const isAgain = expected.state === 'pending';
    expect(await scene.message()).toMatchObject({ ...expected, claimed_until: null, next_attempt_at: now });
    expect((await scene.message()).delivered_at).toEqual(isAgain ? null : now);
  });

  it('is left alone for as long as it asks', async () => {
    receiver.answer = () => ({ status: 429, headers: { 'retry-after': '3600' } });
    await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'pending', last_status: 429, next_attempt_at: inMs(HOUR) });
  });

  it('is disabled when it says that it is gone', async () => {
    receiver.answer = () => ({ status: 410 });
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    await scene.accept();
    await scene.tell(2);
    await scene.send();
    const disabled = { enabled: false, disabled_reason: 'gone', disabled_at: scene.clock.now() };
    expect(await scene.endpoint(id)).toMatchObject(disabled);
    expect(await auditOf(id)).toEqual([
      { actor: 'system', action: 'webhook.disabled', target_type: 'webhook', data: { mode: 'live', reason: 'gone' } },
    ]);
    await scene.sweep().endOfDisabled();
    expect((await scene.messages()).map(({ state }) => state)).toEqual(['failed', 'failed']);
    await scene.accept();
    expect(await scene.send()).toBe(0);
  });

  it('gets what failed at its old address as soon as it has a new one', async () => {
    receiver.answer = ({ path }) => ({ status: path === '/old' ? 503 : 200 });
    const { id } = await scene.addEndpoint({ url: receiver.url('/old') });
    await scene.tell();
    for (let attempt = 0; attempt < 4; attempt += 1) {
      scene.clock.set((await scene.message()).next_attempt_at);
      await scene.send();
    }
    expect((await scene.message()).next_attempt_at.getTime()).toBeGreaterThan(inMs(HOUR).getTime());
    const principal = { ...scene.tenant.as('live'), apiKeyId: newId() } as Principal;
    await scene.core.get(WebhooksService).update(principal, id, { url: receiver.url('/new') });
    // The dispatcher's own pause.
    scene.clock.advance(MINUTE);
    await scene.sendAll();
    expect(await scene.message()).toMatchObject({ state: 'delivered', attempts: 5 });
  });

  it('is judged by its present URL, whatever the one before still answers', async () => {
    const { id } = await scene.addEndpoint({ url: receiver.url('/old') });
    const move = () =>
      scene.db.query('update webhook_endpoints set url = $2 where id = $1', [id, receiver.url('/new')]);
    receiver.answer = async ({ path }) => {
      if (path === '/old') await move();
      return { status: path === '/old' ? 410 : 200 };
    };
    await scene.tell();
    await scene.send();
    expect(await scene.endpoint(id)).toMatchObject({ enabled: true, failing_since: null });
    scene.clock.advance(MINUTE);
    await scene.sendAll();
    expect(receiver.received.map(({ path }) => path)).toEqual(['/old', '/new']);
    expect(await scene.message()).toMatchObject({ state: 'delivered', last_status: 200 });
  });

  it('is not followed to where it redirects', async () => {
    const target = await WebhookReceiver.start();
    receiver.answer = () => ({ status: 302, headers: { location: target.url() } });
    await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'pending', last_status: 302 });
    expect((await scene.message()).last_error).toContain('redirect');
    expect(target.received).toEqual([]);
    await target.stop();
  });

  it.each([
    ['cannot be connected to', 'https://127.0.0.1:9/', 'the connection was refused'],
    ['is in a private network', 'https://10.0.0.1/', 'the host must exist and have public addresses only'],
    ['is the metadata service', 'http://169.254.169.254/', 'the host must exist and have public addresses only'],
    ['cannot be looked up', 'https://hook.example/', 'the host name could not be looked up'],
  ])('is noted when it %s', async (_what, url, lastError) => {
    const { id } = await scene.addEndpoint({ url });
    await scene.tell();
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'pending', last_status: null, last_error: lastError });
    expect((await scene.endpoint(id)).failing_since).toEqual(scene.clock.now());
  });

  it('is noted when its certificate is not trusted', async () => {
    const secure = await WebhookReceiver.start({ status: 200 }, { tls: true });
    await scene.addEndpoint({ url: secure.url() });
    await scene.tell();
    await scene.send();
    expect((await scene.message()).last_error).toBe('the certificate is not trusted');
    expect(secure.received).toEqual([]);
    await secure.stop();
  });

  it('is disabled after five days of nothing but failures', async () => {
    receiver.answer = () => ({ status: 500 });
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    await scene.send();
    scene.clock.advance(5 * DAY - 1);
    await scene.send();
    expect(await scene.endpoint(id)).toMatchObject({ enabled: true });
    await scene.tell(2);
    scene.clock.advance(MINUTE);
    await scene.send();
    expect(await scene.endpoint(id)).toMatchObject({ enabled: false, disabled_reason: 'failing' });
    expect(await auditOf(id)).toHaveLength(1);
  });

  it('begins to count anew after a success', async () => {
    receiver.answer = () => ({ status: 500 });
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    await scene.send();
    receiver.answer = () => ({ status: 200 });
    scene.clock.advance(4 * DAY);
    await scene.sendAll();
    expect(await scene.endpoint(id)).toMatchObject({ failing_since: null, last_success_at: scene.clock.now() });
    receiver.answer = () => ({ status: 500 });
    scene.clock.advance(DAY + MINUTE);
    await scene.tell(2);
    await scene.send();
    expect(await scene.endpoint(id)).toMatchObject({ enabled: true, failing_since: scene.clock.now() });
  });
});

describe('a database that takes no results', () => {
  const settler = () => scene.core.get(AttemptSettler);
  const write = () => jest.spyOn(scene.core.get(WebhookMessagesRepository), 'settle');
  beforeEach(async () => {
    settler().retryMs = 1;
    await scene.addEndpoint({ url: receiver.url() });
  });

  it('has them once it takes them again: what was delivered is not sent a second time', async () => {
    await scene.tell();
    const writes = write();
    for (let failure = 0; failure < 3; failure += 1) {
      writes.mockImplementationOnce(() => {
        throw new UnavailableError('The database is temporarily unavailable', new Error('connection terminated'));
      });
    }
    await scene.send();
    expect(writes).toHaveBeenCalledTimes(4);
    expect(await scene.message()).toMatchObject({ state: 'delivered', attempts: 1 });
    expect(receiver.received).toHaveLength(1);
  });

  it('is asked no more after minutes, when others have the claims', async () => {
    await scene.tell();
    write().mockImplementation(() => {
      scene.clock.advance(MINUTE);
      throw new UnavailableError();
    });
    await scene.send();
    jest.restoreAllMocks();
    expect(await scene.message()).toMatchObject({ state: 'sending' });
    await scene.sweep().freeOrphanedClaims();
    await scene.send();
    expect(await scene.message()).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  it('has all but the one that it refuses', async () => {
    // Of different emails, so that they are sent together.
    for (let count = 0; count < 3; count += 1) await scene.accept();
    await scene.expand(3);
    const [first] = await scene.messages();
    const settle = WebhookMessagesRepository.prototype.settle;
    write().mockImplementation((settled, tx) => {
      if (settled.some(({ message }) => message.id === first?.id)) throw new Error('invalid input syntax');
      settle.call(scene.core.get(WebhookMessagesRepository), settled, tx);
    });
    await scene.sendAll();
    const states = (await scene.messages()).map(({ state }) => state);
    expect(states).toEqual(['sending', 'delivered', 'delivered']);
  });
});

describe('a receiver that was away', () => {
  it('gets everything once it is back, and was not stormed meanwhile', async () => {
    receiver.answer = () => ({ status: 503 });
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    const emailId = await scene.accept();
    await scene.addEvents(emailId, ...Array.from({ length: 299 }, () => 'opened'));
    await scene.expand(300);
    await scene.sendAll();
    const atFirst = receiver.received.length;
    expect(atFirst).toBeLessThanOrEqual(2);
    for (let hour = 0; hour < 24; hour += 1) {
      scene.clock.advance(HOUR);
      await scene.sendAll();
    }
    // One at a time: the pause after each is over only when the clock moves.
    expect(receiver.received.length).toBeLessThanOrEqual(atFirst + 24);
    receiver.received.length = 0;
    receiver.answer = () => ({ status: 200 });
    scene.clock.advance(MINUTE);
    await scene.sendAll();
    expect(await scene.endpoint(id)).toMatchObject({ failing_since: null, enabled: true });
    expect(new Set((await scene.messages()).map(({ state }) => state))).toEqual(new Set(['delivered']));
    const sequences = receiver.events().map((event) => Number(event.sequence));
    expect([...sequences].sort((one, other) => one - other)).toEqual(
      Array.from({ length: 300 }, (_, index) => index + 1),
    );
  });

  it('does not bring forward what has been tried too often, nor after a moment', async () => {
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    await scene.tell();
    const later = inMs(DAY);
    const prepare = (attempts: number, failingMs: number) =>
      Promise.all([
        scene.db.query(
          `update webhook_messages set state = 'pending', attempts = $1, last_attempt_at = $2, next_attempt_at = $3`,
          [attempts, scene.clock.now(), later],
        ),
        scene.db.query('update webhook_endpoints set failing_since = $2 where id = $1', [id, inMs(-failingMs)]),
      ]);
    for (const [attempts, failingMs] of [
      [10, HOUR],
      [1, SECOND],
    ] as const) {
      await prepare(attempts, failingMs);
      await scene.tell((await scene.messages()).length + 1);
      await scene.sendAll();
      expect((await scene.endpoint(id)).failing_since).toBeNull();
      expect((await scene.messages()).filter(({ state }) => state === 'pending')).toHaveLength(1);
      await scene.db.query(`delete from webhook_messages where state = 'delivered'`);
    }
  });
});
