import type { PoolClient } from 'pg';
import { DAY, MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import type { ClaimedMessage, EndpointKey } from '../../../src/modules/webhooks/queue/webhook-queue';
import { bringForward } from '../../../src/modules/webhooks/queue/sql/endpoint-health.sql';
import { claimMessages, settleMessages } from '../../../src/modules/webhooks/queue/sql/message-claims.sql';
import { endOfDisabled, freeOrphanedClaims } from '../../../src/modules/webhooks/queue/sql/message-sweeps.sql';
import { release } from '../../../src/modules/webhooks/dispatch/evaluate-attempt';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const NOW = new Date();
const LIMIT = 50;
const ENDPOINTS = 300;

/** Each twentieth is disabled. */
const MAKE_ENDPOINTS = `
  insert into webhook_endpoints (
    organization_id, mode, id, url, events, enabled, secret, position, created_at, updated_at
  )
  select gen_random_uuid(), 'live', gen_random_uuid(), 'https://x.example/', '{*}', n % 20 > 0, '\\x00', gen_random_uuid(),
    now(), now()
  from generate_series(1, $1) n
  returning organization_id as "organizationId", mode, id as "endpointId", position`;
/** A backlog of one endpoint: 10,000 that are due, half of them since one moment, and as many that will be, a few that are being sent, 10,000 delivered. */
const MAKE_MESSAGES = `
  insert into webhook_messages (
    organization_id, mode, endpoint_id, id, event_type, state, next_attempt_at, claimed_until, last_attempt_at, created_at
  )
  select $1, 'live', $2, gen_random_uuid(), 'sent',
    case when n > 20000 then 'delivered' when n % 400 = 0 then 'sending' else 'pending' end,
    $3::timestamptz + make_interval(secs => greatest(n, 5000) - 10000), $3, $3, $3
  from generate_series(1, 30000) n`;

describe('the statements that send webhooks', () => {
  let db: OpenTestDatabase;
  let client: PoolClient | undefined;
  let endpoints: (EndpointKey & { position: string })[];

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    endpoints = await db.query(MAKE_ENDPOINTS, [ENDPOINTS]);
    await db.query(MAKE_MESSAGES, [endpoints[0]!.organizationId, endpoints[0]!.endpointId, NOW]);
    await db.query('analyze webhook_messages; analyze webhook_endpoints');
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client?.release();
    await db.drop();
  });

  const until = new Date(NOW.getTime() + MINUTE);
  const claim = { now: NOW, until, slots: [], freshSlots: 20, shares: [], freshShare: 100, limit: LIMIT };
  const message = (): ClaimedMessage =>
    ({ ...endpoints[0], id: newId(), claimedUntil: NOW }) as unknown as ClaimedMessage;
  const messages = () => Array.from({ length: LIMIT }, () => release(message()));
  const forward = { now: NOW, triedSince: new Date(NOW.getTime() - DAY), triedLessThan: 10, limit: LIMIT };

  const cases: [string, () => Statement<unknown>, number][] = [
    ['claim-messages', () => claimMessages(claim), LIMIT],
    ['settle-messages', () => settleMessages(messages()), LIMIT],
    ['bring-forward', () => bringForward({ endpoint: endpoints[0]!, ...forward }), LIMIT],
    [
      'free-orphaned-claims',
      () => freeOrphanedClaims(new Date(NOW.getTime() + 1), new Date(NOW.getTime() + MINUTE), LIMIT),
      LIMIT,
    ],
    ['end-of-disabled', () => endOfDisabled('x', LIMIT), LIMIT],
  ];

  it.each(cases)('%s touches few messages, by index', async (_name, statement, limit) => {
    const plan = await explainBoth(client!, statement());
    const touched = plan.filter(
      (node) => node['Relation Name'] === 'webhook_messages' && node['Node Type'] !== 'ModifyTable',
    );
    expect(touched.length).toBeGreaterThan(0);
    expect(touched.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    for (const node of touched) {
      const rows = ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 0);
      expect(rows).toBeLessThanOrEqual(2 * limit);
    }
  });
});
