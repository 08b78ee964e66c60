import { randomBytes } from 'node:crypto';
import { Client, type PoolClient } from 'pg';
import { firstIdAt, newId } from '../../../src/common/ids';
import { withinTenants } from '../../../src/common/tenant';
import { dataSourceOptions, poolOf } from '../../../src/database/pool/data-source';
import { Database } from '../../../src/database/pool/database.service';
import { TenantDataSource } from '../../../src/database/pool/tenant-data-source';
import { EventsRepository } from '../../../src/modules/events/events.repository';
import { EventsService } from '../../../src/modules/events/events.service';
import { deleteInboundEmails } from '../../../src/modules/inbound-mail/emails/sql/delete-inbound-emails.sql';
import {
  listCrowdedInboundEmails,
  listInboundEmailsOf,
} from '../../../src/modules/inbound-mail/emails/sql/inbound-addresses.sql';
import {
  findFeedEvents,
  findInboundEvents,
  readEventFeed,
  readEventFeedBack,
  readInboundFeedBack,
  readInboundFeeds,
} from '../../../src/modules/events/sql/event-feed.sql';
import { insertInboundEmail } from '../../factories/inbound-emails';
import { insertEvents } from '../../factories/feed-events';
import { createTenant, type Tenant } from '../../factories/tenants';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

/** One in a thousand shows the same address. */
const MANY_INBOUND = `
  insert into inbound_emails (
    organization_id, mode, id, route_id, domain_id, digest, envelope_from, envelope_to, from_address, addresses, data,
    size_bytes, received_at
  )
  select $1, 'live', event_id(clock_timestamp(), n), gen_random_uuid(), gen_random_uuid(), decode(md5(n::text), 'hex'), '',
    '{}', '', array['a' || n % 1000 || '@x.example'], '{}', 1, now()
  from generate_series(1, 20000) n`;
const START = firstIdAt(new Date(0));

const scopes = new Set(['email:read', 'inbound:read']);

describe('the event feed', () => {
  let db: OpenTestDatabase;
  let feed: EventsService;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 6 });
    feed = new EventsService(new EventsRepository(db.database));
  });
  beforeEach(async () => (tenant = await createTenant(db)));
  afterAll(() => db.drop());

  const stream = (after = START, owner = tenant) => ({
    organizationId: owner.organizationId,
    mode: 'live' as const,
    after,
  });
  /** What a millisecond brings is shown from the next one on: until then more of it may come. */
  const nextMillisecond = () => db.query('select pg_sleep(0.002)');
  async function read(after?: string, limit = 100): Promise<string[]> {
    await nextMillisecond();
    const [events = []] = await feed.readAfter([stream(after)], limit);
    return events.map((event) => event.id);
  }
  /** A writer in a transaction that the test ends. */
  async function openWriter(url = db.url) {
    const client = new Client(url);
    await client.connect();
    await client.query('begin');
    const queryable = { query: async (text: string, values?: unknown[]) => (await client.query(text, values)).rows };
    return {
      query: queryable.query,
      insert: (types: string[]) => insertEvents(queryable, tenant, types),
      end: async (command: 'commit' | 'rollback') => {
        await client.query(command);
        await client.end();
      },
    };
  }

  it('returns events with the data of their emails, in the order of their ids', async () => {
    const fields = { tags: ['receipt'], metadata: { order: 7 } };
    const { emailId, eventIds } = await insertEvents(db, tenant, ['queued', 'sent'], fields);
    await nextMillisecond();
    const [events] = await feed.readAfter([stream()], 10);
    const { organizationId, domainId } = tenant;
    expect(events).toEqual(
      ['queued', 'sent'].map((eventType, n) => ({
        ...{ id: eventIds[n], organizationId, mode: 'live', emailId, domainId, sequence: n + 1, eventType },
        ...{
          source: 'smtp',
          occurredAt: expect.any(Date),
          data: { recipient: 'r@x.example' },
          ...fields,
          webhookId: null,
        },
      })),
    );
    expect(await feed.find([{ organizationId, mode: 'live', emailId, sequence: 2 }])).toEqual([events?.[1]]);
    expect(await feed.find([{ organizationId: newId(), mode: 'live', emailId, sequence: 2 }])).toEqual([]);
  });

  it('shows each event of a row that records several, and continues in the middle of one', async () => {
    const { organizationId } = tenant;
    const { emailId, eventIds } = await insertEvents(db, tenant, ['queued', 'delivered', 'opened']);
    await db.query('update email_events set sequence = sequence + 2 where email_id = $1 and sequence > 1', [emailId]);
    await db.query('update email_events set sending_ms = 250, also_sent = true where email_id = $1 and sequence = 4', [
      emailId,
    ]);
    await nextMillisecond();
    const [all = []] = await feed.readAfter([stream()], 10);
    expect(all.map(({ eventType, sequence }) => [eventType, sequence])).toEqual([
      ['queued', 1],
      ['sending', 2],
      ['sent', 3],
      ['delivered', 4],
      ['opened', 5],
    ]);
    const [, sending, sent, delivered] = all;
    expect(delivered?.id).toBe(eventIds[1]);
    expect(Number(delivered?.occurredAt) - Number(sending?.occurredAt)).toBe(250);
    expect(sent).toMatchObject({
      occurredAt: delivered?.occurredAt,
      source: 'smtp',
      data: { recipient: 'r@x.example' },
    });
    const ids = all.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
    const pages = async (order: 'pull' | 'pullBack', limit: number) => {
      const pulled: string[] = [];
      for (let after: string | undefined; ;) {
        const page = await feed[order]({ ...tenant.as('live'), scopes }, after, limit);
        expect(page.events.length).toBeLessThanOrEqual(limit);
        pulled.push(...page.events.map(({ id }) => id));
        if (!page.hasMore) return pulled;
        after = page.next;
      }
    };
    for (const limit of [1, 2, 3, 4]) {
      expect(await pages('pull', limit)).toEqual(ids);
      expect(await pages('pullBack', limit)).toEqual(ids.toReversed());
    }
    const key = (sequence: number) => ({ organizationId, mode: 'live' as const, emailId, sequence });
    expect(await feed.find([key(2), key(4)])).toEqual([sending, delivered]);
  });

  it('reads many streams at once, each up to the limit', async () => {
    const other = await createTenant(db);
    const { eventIds: own } = await insertEvents(db, tenant, ['queued', 'sent', 'delivered']);
    const { eventIds: others } = await insertEvents(db, other, ['queued']);
    const streams = [stream(own[0]), stream(START, other), stream(START, await createTenant(db)), stream()];
    await nextMillisecond();
    const pages = await feed.readAfter(streams, 2);
    expect(pages.map((page) => page.map(({ id }) => id))).toEqual([own.slice(1), others, [], own.slice(0, 2)]);
    expect(await feed.readAfter([], 2)).toEqual([]);
  });

  it('holds inbound mail among the events of emails, and finds it by its key', async () => {
    const { organizationId, domainId } = tenant;
    const before = await insertEvents(db, tenant, ['queued']);
    const mail = await insertInboundEmail(db, { organizationId, domainId });
    const after = await insertEvents(db, tenant, ['sent']);
    // Within one millisecond an inbound mail stands before the events of emails.
    const all = [...before.eventIds, mail, ...after.eventIds].sort();
    expect(await read()).toEqual(all);
    expect(await read(START, 2)).toEqual(all.slice(0, 2));
    expect(await read(mail)).toEqual(all.slice(all.indexOf(mail) + 1));
    const back = async (of: Iterable<string>) =>
      (await feed.pullBack({ ...tenant.as('live'), scopes: new Set(of) }, undefined, 10)).events.map(({ id }) => id);
    expect(await back(scopes)).toEqual(all.toReversed());
    expect(await back(['email:read'])).toEqual(all.toReversed().filter((id) => id !== mail));
    const key = { organizationId, mode: 'live' as const, emailId: mail, sequence: 0 };
    const found = { id: mail, emailId: mail, domainId, eventType: 'inbound.received', source: 'inbound', tags: null };
    expect(await feed.find([key])).toMatchObject([found]);
    expect(await feed.find([{ ...key, sequence: 1 }])).toEqual([]);
  });

  it('waits for a transaction that may still commit, and shows it then', async () => {
    const writer = await openWriter();
    const early = await writer.insert(['queued']);
    const late = await insertEvents(db, tenant, ['sent']);
    // Committed, yet behind one that is not: it would be passed over for good.
    expect(await read()).toEqual([]);
    await writer.end('commit');
    expect(await read()).toEqual([...early.eventIds, ...late.eventIds]);
  });

  // As the role of requests, Postgres shows nothing of the transactions of others.
  it('waits for it also where the database keeps requests to their tenant', async () => {
    const source = await new TenantDataSource({ ...dataSourceOptions(db.url), rowLevelSecurity: true }).initialize();
    const ofRequests = new EventsService(new EventsRepository(new Database(source)));
    const writer = await openWriter();
    try {
      expect(source.rowSecurity.state).toBe('on');
      const pull = async () => {
        await nextMillisecond();
        const { organizationId } = tenant;
        const { events } = await withinTenants([organizationId], () =>
          ofRequests.pull({ ...tenant.as('live'), scopes }, undefined, 10),
        );
        return events.map(({ id }) => id);
      };
      const early = await writer.insert(['queued']);
      const late = await insertEvents(db, tenant, ['sent']);
      expect(await pull()).toEqual([]);
      await writer.end('commit');
      expect(await pull()).toEqual([...early.eventIds, ...late.eventIds]);
    } finally {
      await source.destroy();
    }
  });

  it('waits for those of another user as well, whose transactions Postgres does not show', async () => {
    const name = `feed_${randomBytes(4).toString('hex')}`;
    const other = Object.assign(new URL(db.url), { username: name, password: 'secret' });
    const superuser = Object.assign(new URL(db.url), { username: 'postgres' });
    const administer = async (statement: string) => {
      const client = new Client(superuser.href);
      await client.connect();
      await client.query(statement);
      await client.end();
    };
    await administer(`create role ${name} login password 'secret' in role waybill`);
    const writer = await openWriter(other.href);
    try {
      const early = await writer.insert(['queued']);
      const late = await insertEvents(db, tenant, ['sent']);
      expect(await read()).toEqual([]);
      await writer.end('commit');
      expect(await read()).toEqual([...early.eventIds, ...late.eventIds]);
      // One that only reads holds nothing up, however long it takes.
      const reader = await openWriter(other.href);
      await reader.query('select count(*) from email_events');
      expect(await read()).toHaveLength(2);
      await reader.end('rollback');
    } finally {
      await administer(`drop role ${name}`);
    }
  });

  it('continues when that transaction is rolled back', async () => {
    const writer = await openWriter();
    await writer.insert(['queued']);
    const { eventIds } = await insertEvents(db, tenant, ['sent']);
    expect(await read()).toEqual([]);
    await writer.end('rollback');
    expect(await read()).toEqual(eventIds);
  });

  it('gives out positions that nothing appears below', async () => {
    const writer = await openWriter();
    await writer.insert(['queued']);
    const head = await feed.head();
    const { eventIds } = await writer.insert(['sent']);
    await writer.end('commit');
    expect(eventIds[0]! > head).toBe(true);
    expect(await read(head)).toHaveLength(2);
  });

  it('leaves out nothing that many writers record while it is followed', async () => {
    const written: string[] = [];
    const writers = Array.from({ length: 4 }, async (_, index) => {
      for (let n = 0; n < 15; n += 1) {
        const writer = await openWriter();
        const { eventIds } = await writer.insert(['queued', 'sending']);
        // Transactions of different lengths that overlap: some commit long after later ones.
        for (let step = 0; step < index * 3; step += 1) eventIds.push(...(await writer.insert(['opened'])).eventIds);
        await writer.end('commit');
        written.push(...eventIds);
      }
    });
    let isWriting = true;
    const all = Promise.all(writers).then(() => (isWriting = false));
    const seen: string[] = [];
    await waitFor(
      async () => {
        const wasWriting = isWriting;
        const page = await read(seen.at(-1), 7);
        seen.push(...page);
        return !wasWriting && page.length === 0;
      },
      { what: 'the end of the feed' },
    );
    await all;
    expect(seen).toEqual([...written].sort());
  });

  it('reads only the requested rows, however many events there are', async () => {
    const { eventIds } = await insertEvents(db, tenant, Array(20_000).fill('opened'));
    const small = await createTenant(db);
    const { emailId } = await insertEvents(db, small, ['queued']);
    await db.query(MANY_INBOUND, [tenant.organizationId]);
    await db.query('analyze email_events');
    await db.query('analyze inbound_emails');
    await db.query('analyze emails');
    const horizon = await feed.head();
    const client: PoolClient = await poolOf(db.dataSource).connect();
    try {
      for (const one of [stream(eventIds[9_000]), stream(START, small)]) {
        const ofEmails = [
          ...(await explainBoth(client, readEventFeed(one, horizon, 10))),
          ...(await explainBoth(client, readEventFeedBack(one, horizon, 10))),
        ];
        const ofMail = [
          ...(await explainBoth(client, readInboundFeeds([one], horizon, 10))),
          ...(await explainBoth(client, readInboundFeedBack(one, horizon, 10))),
        ];
        const plan = [...ofEmails, ...ofMail];
        expect(plan.map((node) => node['Node Type'])).not.toContain('Seq Scan');
        expect(ofEmails.map((node) => node['Index Name'])).toContainEqual(
          expect.stringMatching(/^email_events_.*_id_idx/),
        );
        expect(ofMail.map((node) => node['Index Name'])).toContain('inbound_emails_pkey');
        for (const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 1 } of plan) {
          expect(rows * loops).toBeLessThanOrEqual(50);
        }
      }
      const key = { organizationId: small.organizationId, mode: 'live' as const, emailId, sequence: 1 };
      for (const statement of [
        findFeedEvents(key, [key]),
        findInboundEvents(key, [key]),
        listInboundEmailsOf(stream(), ['a7@x.example'], { after: START, before: newId(), limit: 10 }),
        listCrowdedInboundEmails(stream(), { after: START, before: newId(), limit: 10 }),
        deleteInboundEmails(stream(), [newId()]),
      ]) {
        const plan = await explainBoth(client, statement);
        expect(
          plan.filter((node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] !== 'inbound_usage'),
        ).toEqual([]);
        for (const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 1 } of plan) {
          expect(rows * loops).toBeLessThanOrEqual(100);
        }
      }
    } finally {
      client.release();
    }
  });
});
