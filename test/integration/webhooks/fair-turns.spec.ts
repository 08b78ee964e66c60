import { HOUR } from '../../../src/common/clock';
import type { EgressResult } from '../../../src/common/egress/egress-client';
import { newId } from '../../../src/common/ids';
import { EventsService } from '../../../src/modules/events/events.service';
import { RecentStreams } from '../../../src/modules/events/recent-streams.service';
import { ExpandEventsJob } from '../../../src/modules/webhooks/dispatch/expand-events.job';
import { AttemptSettler } from '../../../src/modules/webhooks/dispatch/attempt-settler.service';
import { evaluateAttempt, release } from '../../../src/modules/webhooks/dispatch/evaluate-attempt';
import { MAX_HELD } from '../../../src/modules/webhooks/dispatch/organization-shares';
import { WebhookEndpointsRepository } from '../../../src/modules/webhooks/queue/webhook-endpoints.repository';
import { WebhookDispatcher } from '../../../src/modules/webhooks/dispatch/webhook-dispatcher.service';
import { type OutgoingWebhook, WebhookSender } from '../../../src/modules/webhooks/dispatch/webhook-sender.service';
import { WebhookMessagesRepository } from '../../../src/modules/webhooks/queue/webhook-messages.repository';
import { ReplayWebhooksJob } from '../../../src/modules/webhooks/deliveries/replay-webhooks.job';
import { insertEvents } from '../../factories/feed-events';
import { createTenant, type Tenant } from '../../factories/tenants';
import { waitFor } from '../../setup/wait-for';
import { DispatchScene } from './dispatch-scene';

const DELIVERED = { kind: 'answered', status: 200, retryAfter: undefined } as unknown as EgressResult;

/** Every process behind one clock and one database; turns are counted, nothing is timed. */
describe('beside a noisy organization', () => {
  let scene: DispatchScene;
  let noisy: Tenant;
  let quiet: Tenant;
  beforeAll(async () => {
    scene = await DispatchScene.open();
  });
  beforeEach(async () => {
    // Ids count up, so that the noisy one comes first wherever organizations are gone through by id.
    [noisy, quiet] = [await createTenant(scene.db), await createTenant(scene.db)];
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await scene.clear();
    await scene.db.query('delete from webhook_replays');
  });
  afterAll(() => scene.close());

  const BEGINNING = '00000000-0000-0000-0000-000000000000';
  const addEndpoints = ({ organizationId }: Tenant, count: number, events: string[] = ['*']) =>
    scene.db.query<{ id: string }>(
      `insert into webhook_endpoints (
         organization_id, mode, id, url, events, enabled, secret, position, created_at, updated_at
       )
       select $1, 'live', gen_random_uuid(), 'https://' || gen_random_uuid() || '.example/', $3, true, '\\x00', $4, now(), now()
       from generate_series(1, $2) returning id`,
      [organizationId, count, events, BEGINNING],
    );
  const addMessages = ({ organizationId }: Tenant, perEndpoint: number) =>
    scene.db.query(
      `insert into webhook_messages (organization_id, mode, endpoint_id, id, event_type, state, next_attempt_at, created_at)
       select $1, 'live', e.id, gen_random_uuid(), 'webhook.test', 'pending', $3, $3
       from webhook_endpoints e cross join generate_series(1, $2) where e.organization_id = $1`,
      [organizationId, perEndpoint, scene.clock.now()],
    );
  /** Which organizations each read of the event log was for. */
  const watchReads = () => {
    const read = jest.spyOn(scene.core.get(EventsService), 'readAfter');
    return () => read.mock.calls.map(([streams]) => streams.map(({ organizationId }) => organizationId));
  };

  it('with a long backlog at many endpoints, events of another become messages in the first pass', async () => {
    await addEndpoints(noisy, 120, ['complained']);
    await addEndpoints(quiet, 1);
    for (const [tenant, count] of [[noisy, 2_500], [quiet, 1]] as const) await insertEvents(scene.db, tenant, Array(count).fill('sent')); // prettier-ignore
    const reads = watchReads();
    await scene.core.get(ExpandEventsJob).expand();
    const turn = reads().findIndex((organizations) => organizations.includes(quiet.organizationId));
    expect(turn).toBeGreaterThanOrEqual(0);
    expect(turn).toBeLessThanOrEqual(2);
    expect((await scene.messages()).map(({ organization_id }) => organization_id)).toEqual([quiet.organizationId]);
    // Three pages of endpoints, then twenty more shared by those that are behind.
    expect(reads()).toHaveLength(23);
  });

  it('whose events go to many endpoints, it gets few messages in a page, and few pages before the next pass', async () => {
    await addEndpoints(noisy, 50);
    await addEndpoints(quiet, 1);
    for (const [tenant, count] of [[noisy, 300], [quiet, 60]] as const) await insertEvents(scene.db, tenant, Array(count).fill('sent')); // prettier-ignore
    const endpoints = scene.core.get(WebhookEndpointsRepository);
    const advance = endpoints.advance.bind(endpoints);
    const pages: number[] = [];
    jest.spyOn(endpoints, 'advance').mockImplementation(async (steps, messages, now) => {
      pages.push(messages.length);
      await advance(steps, messages, now);
      scene.clock.advance(400);
    });
    await scene.core.get(ExpandEventsJob).expand();
    // All endpoints of one, then the other, then half a second of more for the first.
    expect(pages).toEqual([500, 60, 500, 500]);
    // What it has left follows, and nothing is left out.
    for (let pass = 0; pass < 20; pass += 1) await scene.core.get(ExpandEventsJob).expand();
    expect(await scene.messages()).toHaveLength(50 * 300 + 60);
  });

  it('has thousands of endpoints without events, a run reads a part of them, and first those with events lately', async () => {
    await addEndpoints(quiet, 1);
    await addEndpoints(noisy, 1_200);
    // One organization's endpoints that stand at different events are different streams.
    const apart = `update webhook_endpoints set position = overlay(id::text placing '00000000' from 1)::uuid where organization_id = $1`;
    await scene.db.query(apart, [noisy.organizationId]);
    await insertEvents(scene.db, quiet, ['sent']);
    const job = scene.core.get(ExpandEventsJob);
    await job.expand();
    expect(await scene.messages()).toHaveLength(1);
    const feed = scene.core.get(EventsService);
    const readAfter = feed.readAfter.bind(feed);
    const read: string[][] = [];
    jest.spyOn(feed, 'readAfter').mockImplementation((streams, limit) => {
      // A page of endpoints takes some time.
      scene.clock.advance(40);
      read.push(streams.map(({ organizationId }) => organizationId));
      return readAfter(streams, limit);
    });
    await job.run();
    expect(read).toHaveLength(10);
    await insertEvents(scene.db, quiet, ['opened']);
    await job.run();
    expect(await scene.messages()).toHaveLength(2);
    expect(read[10]).toEqual([quiet.organizationId]);
    expect(read).toHaveLength(21);
    const other = await createTenant(scene.db);
    await addEndpoints(other, 1);
    // As the recorder of outcomes does it.
    scene.core.get(RecentStreams).note([other.as('live')]);
    await insertEvents(scene.db, other, ['sent']);
    await job.run();
    expect(await scene.messages()).toHaveLength(3);
    expect(read[21]?.toSorted()).toEqual([quiet.organizationId, other.organizationId].toSorted());
    // Within a few runs each of the 25 pages had its turn.
    await insertEvents(scene.db, noisy, ['sent']);
    for (let run = 0; run < 4; run += 1) await job.run();
    expect(await scene.messages()).toHaveLength(3 + 1_200);
  });

  it('whose messages cannot be written, events of another become messages all the same', async () => {
    const [bad] = await addEndpoints(noisy, 1);
    await addEndpoints(quiet, 1);
    for (const tenant of [noisy, quiet]) await insertEvents(scene.db, tenant, ['sent']);
    await scene.db.query(
      `alter table webhook_messages add constraint broken check (endpoint_id <> '${bad!.id}') not valid`,
    );
    try {
      await scene.core.get(ExpandEventsJob).expand();
    } finally {
      await scene.db.query('alter table webhook_messages drop constraint broken');
    }
    expect((await scene.messages()).map(({ organization_id }) => organization_id)).toEqual([quiet.organizationId]);
    await scene.core.get(ExpandEventsJob).expand();
    expect(await scene.messages()).toHaveLength(2);
  });

  it('that does not take its webhooks, the queue is not filled: events wait where they are', async () => {
    await addEndpoints(noisy, 1);
    await addMessages(noisy, 10_000);
    await insertEvents(scene.db, noisy, ['sent']);
    await scene.core.get(ExpandEventsJob).expand();
    const count = () => scene.db.query('select count(*)::int from webhook_messages');
    expect(await count()).toEqual([{ count: 10_000 }]);
    await scene.db.query("update webhook_messages set state = 'delivered' where id = (select id from webhook_messages limit 1)"); // prettier-ignore
    await scene.core.get(ExpandEventsJob).expand();
    expect(await count()).toEqual([{ count: 10_001 }]);
  });

  it('whose results cannot be written, those of another are, and it gets no more than its share', async () => {
    await addEndpoints(noisy, 20);
    await addMessages(noisy, 100);
    await addEndpoints(quiet, 1);
    await addMessages(quiet, 1);
    const ofNoisy = ({ organizationId }: { readonly organizationId: string }) =>
      organizationId === noisy.organizationId;
    let isLocked = true;
    const record = WebhookEndpointsRepository.prototype.recordHealth;
    const endpoints = scene.core.get(WebhookEndpointsRepository);
    jest.spyOn(endpoints, 'recordHealth').mockImplementation(async (input, tx) => {
      if (isLocked && input.results.some(ofNoisy)) throw Object.assign(new Error('lock timeout'), { code: '55P03' });
      return record.call(endpoints, input, tx);
    });
    const sent: OutgoingWebhook[] = [];
    jest.spyOn(scene.core.get(WebhookSender), 'send').mockImplementation((message) => {
      sent.push(message);
      return Promise.resolve(evaluateAttempt(message, DELIVERED, { now: scene.clock.now(), random: 0 }));
    });
    scene.core.get(AttemptSettler).retryMs = 1;
    const dispatcher = scene.core.get(WebhookDispatcher);
    const delivered = async () => (await scene.messages()).filter(({ state }) => state === 'delivered');
    while ((await dispatcher.round()) > 0);
    await waitFor(async () => (await delivered()).length > 0, { what: 'the result of the quiet one' });
    expect((await delivered()).every(({ organization_id }) => organization_id === quiet.organizationId)).toBe(true);
    expect(sent.filter(ofNoisy).length).toBeLessThanOrEqual(MAX_HELD / 2);
    isLocked = false;
    await scene.sendAll();
    expect(await delivered()).toHaveLength(20 * 100 + 1);
    expect(sent).toHaveLength(20 * 100 + 1);
  });

  it('with hundreds of endpoints that hang, another has its share of the requests at once', async () => {
    await addEndpoints(noisy, 700);
    await addMessages(noisy, 2);
    const sent: string[] = [];
    jest.spyOn(scene.core.get(WebhookSender), 'send').mockImplementation(async (message, signal) => {
      sent.push(message.organizationId);
      if (message.organizationId === noisy.organizationId) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }
      return { settled: release(message, scene.clock.now()), result: 'stopped', retryAfterMs: 0 };
    });
    const dispatcher = scene.core.get(WebhookDispatcher);
    try {
      for (let round = 0; round < 10; round += 1) await dispatcher.round();
      const held = sent.length;
      await addEndpoints(quiet, 1);
      await addMessages(quiet, 1);
      await dispatcher.round();
      expect(sent.slice(held)).toContain(quiet.organizationId);
      // As much as it leaves to others.
      expect(held).toBeGreaterThanOrEqual(250);
      expect(held).toBeLessThanOrEqual(500);
    } finally {
      dispatcher.stop('now');
      await dispatcher.ended();
    }
  });

  it('with a thousand messages for many endpoints, one endpoint of each organization has its turn first', async () => {
    await addEndpoints(noisy, 1_200);
    await addMessages(noisy, 3);
    const others = await Promise.all(Array.from({ length: 30 }, () => createTenant(scene.db)));
    for (const other of others) {
      await addEndpoints(other, 1);
      await addMessages(other, 1);
    }
    const { organizationId } = noisy;
    const claim = {
      now: scene.clock.now(),
      until: new Date(scene.clock.now().getTime() + 1),
      slots: [],
      freshSlots: 3,
    };
    const shares = { shares: [{ organizationId, free: 10 }], freshShare: 500 };
    const claimed = await scene.core.get(WebhookMessagesRepository).claim({ ...claim, ...shares, limit: 40 });
    const counts = others.map((other) => claimed.filter((one) => one.organizationId === other.organizationId).length);
    expect(counts).toEqual(others.map(() => 1));
    expect(claimed.filter((one) => one.organizationId === organizationId)).toHaveLength(10);
  });

  it('with ten replays, the page of another comes second', async () => {
    const endpoints = [...(await addEndpoints(noisy, 10)), ...(await addEndpoints(quiet, 1))];
    const at = { recordedAt: new Date(Date.now() - HOUR) };
    for (const [tenant, count] of [[noisy, 1_200], [quiet, 1]] as const) await insertEvents(scene.db, tenant, Array(count).fill('sent'), at); // prettier-ignore
    for (const [index, { id }] of endpoints.entries()) {
      await scene.db.query(
        `insert into webhook_replays
         select organization_id, mode, id, $2, $3, now() + make_interval(secs => $4) from webhook_endpoints where id = $1`,
        [id, BEGINNING, newId(), index],
      );
    }
    const reads = watchReads();
    await scene.core.get(ReplayWebhooksJob).run();
    expect(reads().flat().indexOf(quiet.organizationId)).toBeLessThanOrEqual(1);
    expect(await scene.messages()).toHaveLength(10 * 1_200 + 1);
    expect(await scene.db.query('select * from webhook_replays')).toEqual([]);
  });
});
