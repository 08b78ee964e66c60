import { randomUUID } from 'node:crypto';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { HOUR, SECOND } from '../../../src/common/clock';
import type { DeliveryOutcome, RecordedOutcome } from '../../../src/delivery/ports/outcome';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { QueueActionsService } from '../../../src/delivery/queue/queue-actions.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { EmailsRepository } from '../../../src/modules/emails/emails.repository';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { DomainsApp, type Owner } from '../domains/domains-app';
import { ApiClient } from '../../e2e/kit/api-client';
import { type OperatorClient, operatorOf } from './operator-app';

let app: DomainsApp;
let operator: OperatorClient;
let acme: Owner;
let from: string;
/** Every test has destinations of its own. */
let destination: string;
beforeAll(async () => {
  app = await DomainsApp.start({ WARMUP_ENABLED: 'false' });
  app.clock.set(new Date());
  operator = await operatorOf(app);
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner(`Acme ${randomUUID()}`);
  from = await sender(acme);
  destination = `${randomUUID()}.example`;
  // Counts are cached for two seconds.
  app.clock.advance(3 * SECOND);
});

async function sender({ organizationId }: Owner): Promise<string> {
  const domains = app.get(DomainsService);
  const { id, domain } = await domains.add(organizationId, `${randomUUID()}.example`);
  await domains.markVerified(organizationId, id);
  return `hello@${domain}`;
}

/** Emails to as many recipients, one each. */
async function send(count: number, fields: object = {}, owner = acme, sentFrom = from): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const mail = { from: sentFrom, to: [`p${index}@${destination}`], subject: 'Hello', text: 'Hello', ...fields };
    const { id } = (await owner.api.post('/v1/emails', mail)).body.data;
    // The database's clock decides, and this test's runs ahead of it.
    await app.db.query(
      `update deliveries set first_due_at = now(), due_at = now() where email_id = $1 and state = 'ready'`,
      [id],
    );
    ids.push(id);
  }
  return ids;
}

const set = (emailId: string | undefined, columns: string) =>
  app.db.query(`update deliveries set ${columns} where email_id = $1`, [emailId]);

async function states(): Promise<Record<string, number>> {
  const rows = await app.db.query<{ state: string; count: number }>(
    'select state, count(*)::int from deliveries where destination = $1 group by state order by state',
    [destination],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** As a worker does it. */
const workOff = () => app.get(QueueActionsService).workOff(app.get(OutcomeRecorder));

async function act(action: string, filter: object) {
  const { status, body } = await operator.api.post('/operator/v1/queue/actions', { action, filter, reason: 'a test' });
  expect([status, body.data.status]).toEqual([202, 'running']);
  await workOff();
  const done = (await operator.api.get(`/operator/v1/queue/actions/${body.data.id}`)).body.data;
  expect(done).toMatchObject({ id: body.data.id, action, reason: 'a test', status: 'completed' });
  return done;
}

describe('GET /operator/v1/queue', () => {
  it('counts by organization, with names, by destination and by state', async () => {
    const [first, second] = await send(3);
    await set(first, `state = 'waiting', attempt = 1, due_at = now() + interval '1 hour'`);
    await set(second, `first_due_at = now() - interval '100 seconds'`);
    const counted = { ready: 2, waiting: 1, claimed: 0, held: 0, oldestSeconds: expect.any(Number) };
    const by = async (group: string) => (await operator.api.get(`/operator/v1/queue?by=${group}&limit=500`)).body.data;
    const { name } = await app.get(OrganizationsService).get(acme.organizationId);
    expect(await by('organization')).toContainEqual({ key: acme.organizationId, name, ...counted });
    expect(await by('destination')).toContainEqual({ key: destination, ...counted });
    const share = (await by('destination')).find(({ key }: { key: string }) => key === destination);
    expect(share.oldestSeconds).toBeGreaterThanOrEqual(100);
    expect((await by('state')).map(({ key }: { key: string }) => key)).toEqual(
      expect.arrayContaining(['ready', 'waiting']),
    );
    expect((await operator.api.get('/operator/v1/queue?by=colour')).status).toBe(400);
  });
});

describe('GET /operator/v1/queue/deliveries', () => {
  it('lists each with the reason why it waits, page by page', async () => {
    const ids = await send(5);
    const [scheduled, retry, held, sending] = ids;
    await set(scheduled, `state = 'waiting', due_at = now() + interval '1 hour'`);
    await set(retry, `state = 'waiting', attempt = 2, due_at = now() + interval '1 hour'`);
    await set(held, `state = 'held'`);
    await set(sending, `state = 'claimed', attempt = 1, session_id = gen_random_uuid()`);
    const listed: { emailId: string; waiting: { reason: string } }[] = [];
    let cursor = '';
    do {
      const query = `destination=${destination.toUpperCase()}&organization_id=${acme.organizationId}&limit=2${cursor}`;
      const { body } = await operator.api.get(`/operator/v1/queue/deliveries?${query}`);
      listed.push(...body.data);
      cursor = body.nextCursor ? `&cursor=${body.nextCursor}` : '';
    } while (cursor !== '');
    expect(listed.map(({ emailId, waiting }) => [emailId, waiting.reason])).toEqual([
      [ids[0], 'scheduled'],
      [ids[1], 'retry'],
      [ids[2], 'held'],
      [ids[3], 'sending'],
      [ids[4], 'turn'],
    ]);
    const { body } = await operator.api.get(`/operator/v1/queue/deliveries?email_id=${retry}&state=waiting`);
    expect(body.data).toEqual([
      {
        emailId: retry,
        organizationId: acme.organizationId,
        mode: 'live',
        recipient: `p1@${destination}`,
        destination,
        state: 'waiting',
        attempts: 2,
        dueAt: expect.any(String),
        waiting: { reason: 'retry', until: expect.any(String), detail: expect.any(String) },
        endsAt: expect.any(String),
      },
    ]);
  });

  it('shows the result of the last attempt, and what limits a destination', async () => {
    const [retry, due] = await send(2);
    await set(retry, `state = 'waiting', attempt = 1, due_at = now() + interval '1 hour'`);
    const outcome: DeliveryOutcome = {
      ...{ kind: 'deferred', nextAttemptAt: new Date(app.clock.now().getTime() + HOUR), reason: 'greylisted' },
      smtp: { code: 450, response: '450 4.2.0 come back' },
    };
    const [email] = await app.db.query<{ domainId: string }>(
      'select domain_id as "domainId" from emails where id = $1',
      [retry],
    );
    const recorded: RecordedOutcome = {
      ...{
        domainId: email?.domainId ?? '',
        organizationId: acme.organizationId,
        mode: 'live',
        emailId: retry ?? '',
        position: 0,
        attempt: 1,
      },
      ...{ recipient: `p0@${destination}`, outcome, source: 'smtp', occurredAt: app.clock.now() },
    };
    await app.db.database.transaction((tx) =>
      app
        .get(OutcomeRecorder)
        .record([recorded], tx)
        .then(() => undefined),
    );
    const path = `/operator/v1/queue/deliveries?organization_id=${acme.organizationId}`;
    const waits = async () => {
      app.clock.advance(3 * SECOND);
      return (await operator.api.get(path)).body.data.map(({ waiting }: any) => [waiting.reason, waiting.detail]);
    };
    expect(await waits()).toEqual([
      ['retry', 'It waits for attempt 2; the server puts off what it sees for the first time: 450 4.2.0 come back'],
      ['turn', expect.any(String)],
    ]);
    await operator.api.patch(`/operator/v1/destinations/${destination}`, {
      paused: true,
      reason: 'their maintenance',
    });
    const paused = 'The operator of this service has paused mail to the destination: their maintenance';
    expect(await waits()).toEqual([
      ['destination_paused', paused],
      ['destination_paused', paused],
    ]);
    // The tenant also sees the operator's reason.
    const told = async (id: string | undefined) =>
      (await acme.api.get(`/v1/emails/${id}`)).body.data.recipients[0].waiting;
    expect(await told(due)).toEqual({ reason: 'destination_paused', detail: paused });
    expect(await told(retry)).toMatchObject({
      ...{ reason: 'destination_paused', detail: paused, until: expect.any(String) },
    });
    expect((await operator.api.get('/operator/v1/overview')).body.data.pausedDestinations).toBe(1);
    await operator.api.patch(`/operator/v1/destinations/${destination}`, { paused: false, reason: 'over' });
    expect((await waits()).map(([reason]: string[]) => reason)).toEqual(['retry', 'turn']);
  });

  it('reads one event of each recipient, without the whole reply, however often a server has refused it', async () => {
    const [emailId = ''] = await send(1, { to: [0, 1].map((index) => `p${index}@${destination}`) });
    await app.db.query(
      `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
       select $1, 'live', $2, 10 + n, event_id(clock_timestamp(), n), 'deferred', 'smtp', clock_timestamp(),
         jsonb_build_object('recipient', 'p' || n % 2 || $3, 'response', '450 ' || n, 'lines', '["450-", "450"]'::jsonb)
       from generate_series(1, 20) n`,
      [acme.organizationId, emailId, `@${destination}`],
    );
    const email = { organizationId: acme.organizationId, mode: 'live', emailId } as const;
    expect((await app.get(EmailsRepository).findDeferrals([email])).map(({ data }) => data)).toEqual([
      { recipient: `p0@${destination}`, response: '450 20' },
      { recipient: `p1@${destination}`, response: '450 19' },
    ]);
  });

  it('lists what an address still gets, however its letters are written', async () => {
    const [first] = await send(2);
    const found = async (query: string) =>
      (await operator.api.get(`/operator/v1/queue/deliveries?${query}`)).body.data.map(({ emailId }: any) => emailId);
    expect(await found(`recipient=P0@${destination.toUpperCase()}`)).toEqual([first]);
    expect(await found(`recipient=p0@${destination}&email_id=${first}`)).toEqual([first]);
    expect(await found(`recipient=p9@${destination}`)).toEqual([]);
    const refused = await operator.api.get('/operator/v1/queue/deliveries?recipient=nobody');
    expect([refused.status, refused.body.error.details.validation]).toEqual([400, { recipient: [expect.any(String)] }]);
  });

  it('lists what an address gets of all organizations, and of one, page by page', async () => {
    const other = await app.owner(`Other ${randomUUID()}`);
    const to = [`shared@${destination}`];
    const expected = [...(await send(3, { to })), ...(await send(2, { to }, other, await sender(other)))];
    await send(1);
    const pages = async (query: string) => {
      const ids: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await operator.api.get(`/operator/v1/queue/deliveries?limit=2&${query}${cursor}`);
        ids.push(...body.data.map(({ emailId }: { emailId: string }) => emailId));
        if (body.nextCursor === undefined) return ids.sort();
        cursor = `&cursor=${body.nextCursor}`;
      }
    };
    expect(await pages(`recipient=${to[0]}`)).toEqual(expected.toSorted());
    expect(await pages(`recipient=${to[0]}&organization_id=${other.organizationId}`)).toEqual(expected.slice(3).sort());
    expect(await pages(`recipient=${to[0]}&state=held`)).toEqual([]);
    expect(await pages(`email_id=${expected[4]}&organization_id=${other.organizationId}`)).toEqual([expected[4]]);
    expect(await pages(`email_id=${expected[4]}&organization_id=${acme.organizationId}`)).toEqual([]);
    // Very much has been sent to it.
    await app.db.query(
      `insert into email_recipients
       select (jsonb_populate_record(r, jsonb_build_object('email_id', left(r.email_id::text, 24) || to_char(n, 'fm000000000000')))).*
       from email_recipients r cross join generate_series(1, 2000) n
       where r.email_id = $1`,
      [expected[0]],
    );
    expect(await pages(`recipient=${to[0]}`)).toEqual(expected.toSorted());
  });

  it('refuses an invented cursor, and an invalid domain', async () => {
    for (const query of ['cursor=abc', `cursor=${Buffer.from('x y z 1').toString('base64url')}`, 'destination=a%20b']) {
      expect((await operator.api.get(`/operator/v1/queue/deliveries?${query}`)).status).toBe(400);
    }
  });
});

describe('POST /operator/v1/queue/actions', () => {
  it('holds deliveries that no worker has, so that none claims them, and releases them', async () => {
    const [first, second] = await send(3);
    await set(first, `state = 'claimed', attempt = 1, session_id = gen_random_uuid()`);
    await set(second, `state = 'waiting', attempt = 1, due_at = now() + interval '1 hour'`);
    expect(await act('hold', { destination })).toMatchObject({ matched: 3, changed: 2, claimed: 1 });
    expect(await states()).toEqual({ claimed: 1, held: 2 });
    const later = new Date(app.clock.now().getTime() + 2 * HOUR);
    await app.get(DeliveryQueueRepository).promoteDue(later, 100);
    expect(await act('retry_now', { destination })).toMatchObject({ matched: 3, changed: 0, claimed: 1 });
    expect(await states()).toEqual({ claimed: 1, held: 2 });
    expect(await act('release', { destination })).toMatchObject({ matched: 3, changed: 2 });
    expect(await states()).toEqual({ claimed: 1, ready: 1, waiting: 1 });
    const marks = await app.db.query('select distinct held_at, held_reason from deliveries');
    expect(marks).toEqual([{ held_at: null, held_reason: null }]);
  });

  it('keeps the expiry of held deliveries', async () => {
    const [old] = await send(2);
    await act('hold', { destination });
    const sessionId = randomUUID();
    await app.db.query(
      `insert into worker_sessions (id, host, process_id, lease_until) values ($1, 'x', 1, now() + interval '1 hour')`,
      [sessionId],
    );
    await set(old, `first_due_at = now() - interval '5 days'`);
    const bornBefore = new Date(Date.now() - 96 * HOUR);
    const overdue = await app.get(DeliveryQueueRepository).claimOverdue(sessionId, new Date(), 100, bornBefore);
    expect(overdue).toMatchObject([
      { emailId: old, overdue: { state: 'held', heldAt: expect.any(Date), heldReason: 'a test' } },
    ]);
    expect(await states()).toEqual({ claimed: 1, held: 1 });
  });

  it('lets an email be cancelled that is held', async () => {
    const [id] = await send(1);
    await act('hold', { emailId: id });
    expect((await acme.api.post(`/v1/emails/${id}/cancel`)).status).toBe(200);
    expect(await states()).toEqual({});
  });

  it('makes deliveries due that wait for their next attempt, but not scheduled ones', async () => {
    const [first] = await send(1);
    await set(first, `state = 'waiting', attempt = 3, due_at = now() + interval '3 hours'`);
    await send(1, { scheduledAt: new Date(Date.now() + HOUR).toISOString() });
    expect(await act('retry_now', { destination })).toMatchObject({ matched: 2, changed: 1, claimed: 0 });
    expect(await states()).toEqual({ ready: 1, waiting: 1 });
  });

  it('ends deliveries as failed, with an event for the organization', async () => {
    const [first, second] = await send(2);
    await set(second, `state = 'claimed', attempt = 1, session_id = gen_random_uuid()`);
    expect(await act('fail', { organizationId: acme.organizationId })).toMatchObject({ changed: 1, claimed: 1 });
    const { body } = await acme.api.get(`/v1/emails/${first}`);
    expect(body.data.status).toBe('failed');
    const events = (await acme.api.get(`/v1/emails/${first}/events`)).body.data;
    expect(events).toContainEqual(
      expect.objectContaining({
        eventType: 'failed',
        eventData: expect.objectContaining({
          reason: 'operator',
          explanation: 'The operator of this service has ended its delivery',
        }),
      }),
    );
    expect((await acme.api.get(`/v1/emails/${second}`)).body.data.status).not.toBe('failed');
    expect(await states()).toEqual({ claimed: 1 });
  });

  it('affects only deliveries that match the whole filter', async () => {
    const other = await app.owner('Other');
    const [theirs] = await send(2, {}, other, await sender(other));
    await send(2);
    const both = { destination, organizationId: acme.organizationId.toUpperCase() };
    expect(await act('hold', { ...both, recipient: `P1@${destination.toUpperCase()}` })).toMatchObject({
      matched: 1,
      changed: 1,
    });
    await app.db.query('update deliveries set recipient = $1 where email_id <> $2 and recipient = $3', [
      ...[`İ0@${destination}`, theirs, `p0@${destination}`],
    ]);
    const namesake = { ...both, recipient: `i0@${destination}` };
    expect(await act('hold', namesake)).toMatchObject({ matched: 0 });
    expect(await act('hold', { ...both, recipient: `İ0@${destination}` })).toMatchObject({ matched: 1, changed: 1 });
    expect(await act('release', both)).toMatchObject({ matched: 2, changed: 2 });
    expect(await act('hold', both)).toMatchObject({ matched: 2, changed: 2 });
    expect(await act('hold', { emailId: theirs })).toMatchObject({ matched: 1, changed: 1 });
    expect(await states()).toEqual({ held: 3, ready: 1 });
  });

  it('works in batches, continues where it stopped, and leaves nothing out', async () => {
    await app.db.query(
      `insert into deliveries (organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at, first_due_at)
       select $1, 'live', gen_random_uuid(), 0, gen_random_uuid(), 'a@' || $2, $2, 'bulk', 'ready', now(), now()
       from generate_series(1, 1201)`,
      [acme.organizationId, destination],
    );
    const wanted = { action: 'hold' as const, filter: { destination }, reason: 'a test', actor: 'operator' };
    const actions = app.get(QueueActionsService);
    const { id } = await actions.create(wanted, () => Promise.resolve());
    // A process that is stopped after its first batch.
    const stop = new AbortController();
    const recorder = app.get(OutcomeRecorder);
    const first = actions.workOff(recorder, { only: id, signal: stop.signal });
    stop.abort();
    await first;
    expect(await actions.get(id)).toMatchObject({ status: 'running', matched: 500, changed: 500 });
    await Promise.all([workOff(), workOff()]);
    expect(await actions.get(id)).toMatchObject({ status: 'completed', matched: 1201, changed: 1201 });
    expect(await states()).toEqual({ held: 1201 });
    await app.db.query('delete from deliveries where destination = $1', [destination]);
  });

  it('examines a part of the queue at a time, however few it is for, and finds all of those', async () => {
    const other = `other-${destination}`;
    const insert = (from: number, count: number, to: string) =>
      app.db.query(
        `insert into deliveries (organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at, first_due_at)
         select $1, 'live', ('01a00000-0000-7000-8000-' || lpad(($4::int + n)::text, 12, '0'))::uuid, 0, gen_random_uuid(), 'a@' || $2, $2, 'bulk', 'held', now(), now()
         from generate_series(1, $3::int) n`,
        [acme.organizationId, to, count, from],
      );
    await insert(0, 1, destination);
    await insert(1, 5_100, other);
    await insert(5_101, 2, destination);
    await insert(5_103, 5_100, other);
    await insert(10_203, 1, destination);
    const filter = { destination, organizationId: acme.organizationId };
    const actions = app.get(QueueActionsService);
    const wanted = { action: 'release' as const, filter, reason: 'a test', actor: 'operator' };
    const { id } = await actions.create(wanted, () => Promise.resolve());
    const stop = new AbortController();
    const first = actions.workOff(app.get(OutcomeRecorder), { only: id, signal: stop.signal });
    stop.abort();
    await first;
    expect(await actions.get(id)).toMatchObject({ status: 'running', matched: 1, changed: 1 });
    await workOff();
    expect(await actions.get(id)).toMatchObject({ status: 'completed', matched: 4, changed: 4 });
    const query = `destination=${destination}&state=ready&limit=3`;
    const page = (await operator.api.get(`/operator/v1/queue/deliveries?${query}`)).body;
    const next = await operator.api.get(`/operator/v1/queue/deliveries?${query}&cursor=${page.nextCursor}`);
    expect([page.data.length, next.body.data.length, next.body.nextCursor]).toEqual([3, 1, undefined]);
    const ids = [...page.data, ...next.body.data].map(({ emailId }: { emailId: string }) => emailId);
    expect(ids).toEqual([...new Set(ids)].toSorted());
    await app.db.query('delete from deliveries where organization_id = $1', [acme.organizationId]);
  });

  it('goes on with other actions where one fails', async () => {
    await send(2);
    const actions = app.get(QueueActionsService);
    const create = (action: 'fail' | 'hold', of: string) =>
      actions.create({ action, filter: { destination: of }, reason: 'a test', actor: 'operator' }, () =>
        Promise.resolve(),
      );
    const failing = await create('fail', destination);
    const next = await create('hold', `other-${destination}`);
    const broken = { record: () => Promise.reject(new Error('no outcome can be recorded')) };
    await expect(actions.workOff(broken as unknown as OutcomeRecorder)).rejects.toThrow('no outcome can be recorded');
    expect(await actions.get(failing.id)).toMatchObject({ status: 'running', changed: 0 });
    expect(await actions.get(next.id)).toMatchObject({ status: 'completed' });
    await workOff();
    expect(await actions.get(failing.id)).toMatchObject({ status: 'completed', changed: 2 });
  });

  it('ends all but those that cannot be recorded, which are not sent', async () => {
    const ids = await send(7);
    const isRefused = ({ emailId }: { emailId: string }) => [ids[2], ids[3], ids[6]].includes(emailId);
    const recorder = app.get(OutcomeRecorder);
    const record = recorder.record.bind(recorder);
    jest.spyOn(recorder, 'record').mockImplementation((outcomes, tx) => {
      return outcomes.some(isRefused) ? Promise.reject(new Error('a damaged row')) : record(outcomes, tx);
    });
    expect(await act('fail', { destination })).toMatchObject({ matched: 7, changed: 4 });
    const left = await app.db.query(
      'select email_id, state, held_reason from deliveries where destination = $1 order by email_id',
      [destination],
    );
    const held = { state: 'held', held_reason: 'a test; it was to end, which could not be stored' };
    expect(left).toEqual([ids[2], ids[3], ids[6]].sort().map((email_id) => ({ email_id, ...held })));
    jest.restoreAllMocks();
    expect(await act('fail', { destination })).toMatchObject({ matched: 3, changed: 3 });
    expect(await states()).toEqual({});
  });

  it('records actor and action, without the recipient, and keeps that no longer than needed', async () => {
    const [id] = await send(1);
    const recipient = `p0@${destination}`;
    const done = await act('hold', { organizationId: acme.organizationId, recipient });
    expect(done.filter).toEqual({ organizationId: acme.organizationId });
    const [entry] = (await operator.api.get(`/operator/v1/audit?organization_id=${acme.organizationId}&limit=1`)).body
      .data;
    expect(entry).toMatchObject({
      actor: `operator:${operator.keyId}`,
      action: 'queue.hold',
      target: { type: 'queue_action', id: done.id },
      details: { action: 'hold', recipient: true },
    });
    expect(JSON.stringify(entry)).not.toContain(recipient);
    expect((await acme.api.get(`/v1/emails/${id}`)).status).toBe(200);
  });

  it('is in the audit log of the organization whose email it names, for keys of that mode', async () => {
    const asked = { name: 'test', mode: 'test', scopes: ['email:send', 'privacy:read'] };
    const testApi = new ApiClient(app.port, (await acme.api.post('/v1/api-keys', asked)).body.data.key);
    const live = await send(1);
    const test = await send(1, {}, { ...acme, api: testApi });
    for (const [emailId] of [live, test]) await act('fail', { emailId: emailId?.toUpperCase() });
    const seenBy = async (key: ApiClient) =>
      (await key.get('/v1/audit-log?action=queue.fail')).body.data.map(
        (entry: { data: { emailId: string } }) => entry.data.emailId,
      );
    expect(await seenBy(acme.api)).toEqual([...test, ...live]);
    expect(await seenBy(testApi)).toEqual(test);
  });

  it.each([
    { action: 'hold', filter: {}, reason: 'x' },
    { action: 'hold', filter: { destination: null, recipient: null }, reason: 'x' },
    { action: 'hold', reason: 'x' },
    { action: 'drop', filter: { destination: 'x.example' }, reason: 'x' },
    { action: 'hold', filter: { destination: 'no domain' }, reason: 'x' },
    { action: 'hold', filter: { recipient: 'nobody' }, reason: 'x' },
    { action: 'hold', filter: { emailId: 'x' }, reason: 'x' },
    { action: 'hold', filter: { organizationId: randomUUID() }, reason: 'x' },
    { action: 'hold', filter: { destination: 'x.example', colour: 'red' }, reason: 'x' },
    { action: 'hold', filter: { destination: 'x.example' } },
  ])('refuses %j', async (body) => {
    expect((await operator.api.post('/operator/v1/queue/actions', body)).status).toBe(400);
  });

  it('says what a filter is when none is given', async () => {
    const { body } = await operator.api.post('/operator/v1/queue/actions', { action: 'hold', reason: 'x' });
    expect(body.error.details.validation).toEqual({ filter: ['filter must be an object'] });
  });

  it('returns 404 for an unknown action', async () => {
    expect((await operator.api.get(`/operator/v1/queue/actions/${randomUUID()}`)).status).toBe(404);
  });
});
