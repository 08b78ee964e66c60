import type { PoolClient } from 'pg';
import { NIL_ID } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import { takeDueDomains } from '../../../src/modules/domains/registry/sql/domains.sql';
import { insertReports } from '../../../src/modules/inbound-reports/queue/sql/append-reports.sql';
import { claimInboundReports } from '../../../src/modules/inbound-reports/queue/sql/process-reports.sql';
import { lockTurn } from '../../../src/modules/privacy/requests/sql/privacy-requests.sql';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

/** What waits for one organization; ten others have one item each. */
const COUNT = 20_000;
const NOISY = '11111111-1111-7111-8111-111111111111';
const OTHER = (n: string) => `('22222222-2222-7222-8222-' || lpad(${n}::text, 12, '0'))::uuid`;
const OWNER = `case when n > 10 then '${NOISY}'::uuid else ${OTHER('n')} end`;
const ROWS = `from generate_series(1, ${COUNT} + 10) n`;

const FILL = [
  `insert into inbound_reports (organization_id, mode, email_id, position, digest, id, raw)
   select ${OWNER}, 'live', gen_random_uuid(), 0, sha256(n::text::bytea), gen_random_uuid(), 'x' ${ROWS}`,
  `insert into privacy_requests (organization_id, mode, id, type, masked_email, subject_hash, status, requested_at)
   select ${OWNER}, 'live', gen_random_uuid(), 'article_15_access', 'x', sha256(n::text::bytea), 'pending', now() - interval '1 day' ${ROWS}`,
  `insert into organizations (id, name) select '${NOISY}', 'noisy' union all select ${OTHER('n')}, 'other' from generate_series(1, 10) n`,
  `insert into domains (organization_id, id, domain, verification_token, next_check_at)
   select ${OWNER}, gen_random_uuid(), n || '.example', 'token', now() - interval '1 hour' ${ROWS}`,
];

/** With and without statistics: a table that has just been filled has none. */
describe.each(['', 'analyze'])('whose turn it is, beside one with a long backlog (%s)', (analyze) => {
  let db: OpenTestDatabase;
  let client: PoolClient | undefined;
  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    for (const text of FILL) await db.query(text);
    if (analyze) await db.query(analyze);
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client?.release();
    await db.drop();
  });

  const now = new Date();
  const message = { digest: Buffer.from('d'), raw: Buffer.from('x'), receivedAt: now };
  const report = { organizationId: NOISY, mode: 'live', emailId: NOISY, position: 0, id: NOISY } as const;
  const statements: [string, () => Statement<unknown>][] = [
    ['reports', () => claimInboundReports(now, now, 10, NIL_ID)],
    ['privacy requests', () => lockTurn('article_15_access', now, NIL_ID)],
    ['domains', () => takeDueDomains({ now, until: now, limit: 10, limitEach: 5 }, [NOISY, NIL_ID])],
    ['new reports', () => insertReports([report], message, { perDelivery: 10, open: 100 })],
  ];

  it.each(statements)('%s: a few rows are touched, by index', async (_what, statement) => {
    const plan = await explainBoth(client as PoolClient, statement());
    const reads = plan.filter((node) => node['Relation Name'] && node['Node Type'] !== 'ModifyTable');
    expect(reads.length).toBeGreaterThan(0);
    for (const node of reads) {
      const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
      if ((node['Actual Loops'] ?? 0) > 0) expect(node['Node Type']).not.toBe('Seq Scan');
      expect(rows * (node['Actual Loops'] ?? 0)).toBeLessThanOrEqual(100);
    }
  });
});
