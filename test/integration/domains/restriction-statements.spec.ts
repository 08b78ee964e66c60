import type { PoolClient } from 'pg';
import { HOUR } from '../../../src/common/clock';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import { countRestricted } from '../../../src/modules/domains/restrictions/sql/restrictions.sql';
import { type DomainOwner, findDomainsAbove } from '../../../src/modules/stats/sql/live-sums.sql';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const NOW = new Date('2026-01-05T12:00:00.000Z');
/** Ten hours, of which each has a domain. */
const SINCE = new Date(NOW.getTime() - 9 * HOUR);
const LIMITS = { minRecipients: 100, perMille: { bounces: 50, complaints: 3 } };

describe('the statements of restrictions, among many domains', () => {
  let db: OpenTestDatabase;
  let client: PoolClient;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    await db.query(
      `insert into domains (organization_id, id, domain, verification_token, sending_status, sending_daily_limit)
       select gen_random_uuid(), gen_random_uuid(), 'n' || n || '.example', 'token',
         case when n % 2000 = 0 then 'slowed' else 'active' end, 100
       from generate_series(1, 20000) n`,
    );
    await db.query(
      `insert into stats_hourly (organization_id, mode, domain_id, hour, accepted, bounced)
       select organization_id, 'live', id, $1::timestamptz - (row_number() over () - 1) * interval '1 hour', 100, 6
       from domains`,
      [NOW],
    );
    await db.query('analyze');
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client.release();
    await db.drop();
  });

  it.each<[string, number, () => Statement<unknown>]>([
    ['find domains above', 10, () => findDomainsAbove(LIMITS, SINCE, undefined, 500)],
    ['count restricted', 10, () => countRestricted()],
  ])('%s reads only the rows that matter', async (_name, rows, make) => {
    const nodes = await explainBoth(client, make());
    const scans = nodes.filter((node) => /stats_hourly|domains/.test(String(node['Relation Name'])));
    expect(scans.length).toBeGreaterThan(0);
    expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    for (const node of scans) {
      expect((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)).toBeLessThanOrEqual(rows);
    }
  });

  it('go through those above in key order, page by page', async () => {
    const find = async (after: DomainOwner | undefined, limit: number): Promise<DomainOwner[]> => {
      const { text, values } = findDomainsAbove(LIMITS, SINCE, after, limit);
      return (await client.query<DomainOwner>(text, [...values])).rows;
    };
    const all = await find(undefined, 500);
    expect(all).toHaveLength(10);
    const first = await find(undefined, 6);
    const second = await find(first.at(-1), 6);
    expect([...first, ...second]).toEqual(all);
  });
});
