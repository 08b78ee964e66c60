import type { PoolClient } from 'pg';
import { DAY } from '../../../src/common/clock';
import { newId, NIL_ID } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import {
  clearRemoved,
  listEncryptedSecrets,
  listFollowersOf,
} from '../../../src/modules/webhooks/queue/sql/webhook-endpoints.sql';
import { deleteOldMessages } from '../../../src/modules/webhooks/queue/sql/message-sweeps.sql';
import { nextReplays, renewMessages } from '../../../src/modules/webhooks/queue/sql/replays.sql';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const LIMIT = 50;

/** 3,000 endpoints; 30,000 messages, most of them the first one's, a tenth of them old. */
const ENDPOINTS = `
  insert into webhook_endpoints (
    organization_id, mode, id, url, events, enabled, secret, position, created_at, updated_at
  )
  select gen_random_uuid(), 'live', gen_random_uuid(), 'https://x.example/', '{*}', true, '\\x00', gen_random_uuid(), now(), now()
  from generate_series(1, 3000)
  returning organization_id as "organizationId", 'live' as mode, id, secret, null as "previousSecret"`;
const MESSAGES = `
  insert into webhook_messages (organization_id, mode, endpoint_id, id, event_type, state, next_attempt_at, created_at)
  select organization_id, 'live', endpoint_id, gen_random_uuid(), 'sent',
    case when n % 5 = 0 then 'pending' when n % 50 = 1 then 'failed' else 'delivered' end, now(),
    now() - case when n % 10 = 0 then interval '31 days' else interval '1 day' end
  from unnest($1::uuid[], $2::uuid[]) with ordinality as given (organization_id, endpoint_id, n)`;

describe('the statements on webhooks', () => {
  let db: OpenTestDatabase;
  let rows: { organizationId: string; mode: 'live'; id: string; secret: Buffer; previousSecret: null }[];
  let client: PoolClient | undefined;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    rows = await db.query(ENDPOINTS);
    const { organizationId, id } = rows[0]!;
    const owners = Array.from({ length: 30_000 }, (_, n) => rows[n % 10 > 0 ? 0 : n / 10] ?? rows[0]!);
    await db.query(MESSAGES, [owners.map((owner) => owner.organizationId), owners.map((owner) => owner.id)]);
    await db.query(`insert into webhook_removals values ($1, 'live', $2)`, [organizationId, id]);
    await db.query(
      `insert into webhook_replays select organization_id, mode, id, position, position, now() from webhook_endpoints
       order by id limit 20`,
    );
    await db.query('analyze webhook_messages');
    await db.query('analyze webhook_endpoints');
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client?.release();
    await db.drop();
  });

  const earliest = () => rows.toSorted((one, other) => (one.organizationId < other.organizationId ? -1 : 1))[7]!;

  const followers = () => rows.slice(1, LIMIT + 1).map(({ id, ...owner }) => ({ ...owner, endpointId: id }));

  const cases: [string, () => Statement<unknown>, number][] = [
    ['next-replays', () => nextReplays(LIMIT, NIL_ID, 20), 20 * LIMIT],
    // After an early one: where little more than a page is left, all of it is read.
    ['list-encrypted-secrets', () => listEncryptedSecrets(LIMIT, earliest()), LIMIT],
    ['list-followers-of', () => listFollowersOf(followers(), 1_000), LIMIT],
    ['replace-secrets', () => replaceSecrets(rows[7]!), 1],
    ['renew-messages', () => renewMessages(rows[0]!, Array.from({ length: LIMIT }, newMessage), new Date()), LIMIT],
    ['clear-removed', () => clearRemoved(LIMIT), LIMIT],
    ['delete-old-messages', () => deleteOldMessages(new Date(Date.now() - 30 * DAY), LIMIT), LIMIT],
  ];

  it.each(cases)('%s reads only the requested rows, however many there are', async (_name, statement, most) => {
    const plan = await explainBoth(client!, statement());
    const reads = plan.filter((node) => /^webhook_(messages|endpoints)$/.test(node['Relation Name'] ?? ''));
    expect(reads.length).toBeGreaterThan(0);
    for (const { 'Node Type': type, 'Actual Rows': found = 0, 'Actual Loops': loops = 1 } of reads) {
      expect(type).not.toBe('Seq Scan');
      expect(found * loops).toBeLessThanOrEqual(most);
    }
  });

  it('the list of failed messages has an index', async () => {
    const { organizationId, id } = rows[0]!;
    const text = `select * from webhook_messages where organization_id = $1 and mode = 'live' and endpoint_id = $2
      and state = 'failed' order by id desc limit 50`;
    const plan = await explainBoth(client!, { name: 'list-failed', text, values: [organizationId, id] });
    expect(plan.map((node) => node['Index Name'])).toContain('webhook_messages_failed');
    expect(plan.map((node) => node['Node Type'])).not.toContain('Sort');
  });

  /** As the repository writes it. */
  function replaceSecrets({ organizationId, mode, id, secret }: (typeof rows)[number]): Statement<never> {
    const text = `update webhook_endpoints set secret = $1
      where organization_id = $2 and mode = $3 and id = $4 and secret = $5 and previous_secret is null`;
    return { name: 'replace-secrets', text, values: [Buffer.from('again'), organizationId, mode, id, secret] };
  }
  function newMessage() {
    return { id: newId(), emailId: newId(), sequence: 1, eventType: 'sent' };
  }
});
