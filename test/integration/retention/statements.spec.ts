import type { PoolClient } from 'pg';
import { DAY } from '../../../src/common/clock';
import { firstIdAt } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import { deleteContents } from '../../../src/modules/emails/retention/sql/retention.sql';
import { removeEmails } from '../../../src/modules/stats/sql/write-counters.sql';
import { loadSkewedData } from '../../factories/skewed-data';
import { explainBoth, explainEach, type PlanNode } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const LIMIT = 50;

describe('the statements of retention', () => {
  let db: OpenTestDatabase;
  let client: PoolClient | undefined;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    // On one connection: the rows are remembered in a temporary table of the session.
    client = await poolOf(db.dataSource).connect();
    const session = client;
    await loadSkewedData({ query: (text) => session.query(text) });
    await client.query('analyze');
  });
  afterAll(async () => {
    client?.release();
    await db.drop();
  });

  const rowsOf = ({ 'Actual Rows': rows = 0, 'Actual Loops': loops = 1 }: PlanNode) => rows * loops;
  async function busiest(): Promise<string> {
    const [row] = await db.query(
      'select organization_id as id from emails group by 1 order by count(*) desc, organization_id limit 1',
    );
    return String(row?.id);
  }

  it('look at one page of contents by its key, however many there are', async () => {
    const organizationId = await busiest();
    await db.query(`update email_recipients set status = 'delivered' where organization_id = $1`, [organizationId]);
    const endedBefore = new Date(Date.now() + 40 * DAY);
    const page = { organizationId, mode: 'live' as const, afterId: firstIdAt(new Date(0)), endedBefore };
    const plan = await explainBoth(client!, deleteContents({ ...page, beforeId: firstIdAt(endedBefore) }, LIMIT));
    const reads = plan.filter((node) => /^email_/.test(node['Relation Name'] ?? ''));
    expect(plan.some((node) => node['Relation Name']?.startsWith('email_contents') && rowsOf(node) === LIMIT)).toBe(
      true,
    );
    for (const node of reads) {
      expect(node['Node Type']).not.toBe('Seq Scan');
      expect(rowsOf(node)).toBeLessThanOrEqual(2 * LIMIT);
    }
  });

  it('find the hours to forget by their owner and time', async () => {
    const organizationId = await busiest();
    await db.query(
      `insert into stats_hourly (organization_id, mode, domain_id, hour, emails)
       select o.id, 'live', o.id, date_trunc('hour', now()) - h * interval '1 hour', 1
       from organizations o, generate_series(1, 200) h`,
    );
    await db.query('analyze stats_hourly');
    const period = { from: new Date(Date.now() - 2 * DAY), to: new Date(Date.now() - DAY) };
    for (const plan of await explainEach(client!, removeEmails([organizationId], period))) {
      const hours = plan.filter(
        (node) => node['Node Type'].includes('Scan') && node['Relation Name'] === 'stats_hourly',
      );
      expect(hours.reduce((sum, node) => sum + rowsOf(node), 0)).toBe(24);
      expect(hours.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    }
  });
});
