import type { PoolClient } from 'pg';
import { newId } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import { withdrawRecipients } from '../../../src/delivery/queue/sql/settle-deliveries.sql';
import { AddressFinder } from '../../../src/common/erasure/address-finder';
import { readContent } from '../../../src/modules/emails/privacy/sql/erase-contents.sql';
import {
  type FoundHead,
  readErasableRecipients,
  readHeads,
  writeHead,
  writeRecipients,
} from '../../../src/modules/emails/privacy/sql/erase-emails.sql';
import {
  type KeyPlace,
  readErasableEvents,
  readStoredKeys,
  writeEvents,
} from '../../../src/modules/emails/privacy/sql/erase-events-and-responses.sql';
import { findReceived, findSenders, measureErasable } from '../../../src/modules/emails/privacy/sql/find-erasable.sql';
import { eraseResponses } from '../../../src/modules/webhooks/queue/sql/message-sweeps.sql';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const ORGANIZATION = newId();
const ANN = 'r7@x.example';
const SUBJECT = {
  organizationId: ORGANIZATION,
  mode: 'live' as const,
  keys: [ANN],
  finder: new AddressFinder(ANN),
};
const ALL = { after: '00000000-0000-0000-0000-000000000000', lastId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

const HEAD = {
  ...{ subject: 's', to_emails: [ANN], cc_emails: null, bcc_emails: null, from_email: 'a@acme.example' },
  ...{ from_name: null, reply_to: null, tags: null, metadata: { a: 1 } },
};

/** One email in a thousand is the subject's. */
const EMAILS = `
  with made as (
    insert into emails (
      organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category, track_opens, track_clicks,
      event_sequence, created_at, updated_at
    )
    select $1, 'live', event_id(now() - n * interval '1 minute', n), gen_random_uuid(), 'delivered', 'a@acme.example', 's',
      array['r' || n % 1000 || '@x.example'], 'transactional', false, false, 1, now(), now()
    from generate_series(1, 20000) n
    returning id, to_emails
  ), events as (
    insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
    select $1, 'live', id, 1, event_id(now(), 1), 'queued', 'api', now(), '{}' from made
  )
  insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
  select $1, 'live', id, 0, 'to', to_emails[1], 'delivered', now() from made`;

/** Told to two endpoints. */
const ANSWERED = `
  with endpoints as (
    insert into webhook_endpoints (organization_id, mode, id, url, events, enabled, secret, position, created_at, updated_at)
    select $1, 'live', gen_random_uuid(), 'https://x.example', '{*}', true, '', $2, now(), now() from generate_series(1, 2)
    returning id
  )
  insert into webhook_messages (
    organization_id, mode, endpoint_id, id, event_type, state, next_attempt_at, created_at, last_answer
  )
  select $1, 'live', e.id, v.id, v.event_type, 'failed', now(), now(), '{}' from endpoints e cross join email_events v`;

/** Each with a response of 1,000 bytes, one of 600 kB; and those of another organization. */
const KEYS = `
  insert into idempotency_keys (organization_id, mode, path, key, fingerprint, response, created_at)
  select organization_id, 'live', '/v1/emails', 'k' || lpad(n::text, 4, '0'), '',
    to_jsonb(repeat('x', case n when 700 then 600000 else 998 end)), now()
  from unnest(array[$1, gen_random_uuid()]::uuid[]) organization_id, generate_series(1, 1000) n`;
const START: KeyPlace = { path: '', key: '' };

describe('among many emails', () => {
  let db: OpenTestDatabase;
  let client: PoolClient | undefined;
  let eventIds: string[];
  let named: { emailId: string; position: number }[];
  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    await db.query(EMAILS, [ORGANIZATION]);
    await db.query(ANSWERED, [ORGANIZATION, newId()]);
    await db.query(KEYS, [ORGANIZATION]);
    await db.query('vacuum analyze emails, email_recipients, email_events, webhook_messages, idempotency_keys');
    const rows = await db.query('select email_id from email_recipients where address = $1 limit 10', [ANN]);
    named = rows.map((row) => ({ emailId: row.email_id, position: 0 }));
    const told = await db.query('select id from email_events where email_id = any($1)', [ids()]);
    eventIds = told.map(({ id }) => id);
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client?.release();
    await db.drop();
  });

  const ids = () => named.map(({ emailId }) => emailId);
  const recipients = () => named.map((email) => ({ ...email, address: ANN, lastResponse: null }));
  const heads = () => ids().map((id) => ({ id, head: HEAD }));
  const events = () => ids().map((emailId) => ({ emailId, sequence: 0, eventType: 'queued' as const, data: {} }));
  const keys = () => named.map((email) => ({ organizationId: ORGANIZATION, mode: 'live' as const, ...email }));

  it.each<[string, number, () => Statement<unknown>]>([
    ['finding those of a subject', 20, () => findReceived(SUBJECT, ALL, 10)],
    ['looking for senders', 100, () => findSenders(SUBJECT, ALL, { examined: 100, found: 10 })],
    ['withdrawing', 10, () => withdrawRecipients(keys())],
    ['measuring', 10, () => measureErasable(SUBJECT, ids())],
    ['reading recipients', 10, () => readErasableRecipients(SUBJECT, ids())],
    ['writing recipients', 10, () => writeRecipients(SUBJECT, recipients())],
    ['reading heads', 10, () => readHeads(SUBJECT, ids())],
    ['writing a head', 1, () => writeHead(SUBJECT, heads()[0] as FoundHead, new Date())],
    ['reading a content', 10, () => readContent(SUBJECT, ids()[0] ?? '')],
    ['reading events', 10, () => readErasableEvents(SUBJECT, events(), 10)],
    ['writing events', 10, () => writeEvents(SUBJECT, events())],
    ['reading responses', 20, () => readStoredKeys(SUBJECT, START, { keys: 20, bytes: 1_000_000 })],
    ['reading responses up to a size', 5, () => readStoredKeys(SUBJECT, START, { keys: 500, bytes: 5_000 })],
    ['forgetting answers of webhooks', 100, () => eraseResponses(SUBJECT, eventIds)],
  ])('%s reads only the requested rows', async (_name, rows, make) => {
    const plan = await explainBoth(client as PoolClient, make());
    const scans = plan.filter((node) => node['Relation Name'] !== undefined && node['Node Type'].includes('Scan'));
    expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    const touched = scans.map((node) => {
      const once = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
      return once * (node['Actual Loops'] ?? 1);
    });
    expect(Math.max(0, ...touched)).toBeLessThanOrEqual(rows);
  });

  it('pages of stored responses end with the one that reaches the size, and have each key once', async () => {
    const sizes: number[] = [];
    const keys: string[] = [];
    let page = await read(START);
    while (page.length > 0) {
      sizes.push(page.length);
      keys.push(...page.map(({ key }) => key));
      page = await read(page.at(-1) as KeyPlace);
    }
    expect(keys).toEqual(Array.from({ length: 1000 }, (_, index) => `k${String(index + 1).padStart(4, '0')}`));
    expect(sizes).toEqual([300, 300, 100, 300]);
  });

  const read = async (after: KeyPlace) => {
    const { text, values } = readStoredKeys(SUBJECT, after, { keys: 300, bytes: 300_000 });
    return (await (client as PoolClient).query<{ path: string; key: string }>(text, values)).rows;
  };
});
