import type { PoolClient } from 'pg';
import { poolOf } from '../../../src/database/pool/data-source';
import { deleteExpiredDkimKeys } from '../../../src/modules/domains/dkim/sql/dkim-keys.sql';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

let db: OpenTestDatabase;
let client: PoolClient;
beforeAll(async () => {
  db = await openTestDatabase();
  client = await poolOf(db.dataSource).connect();
});
afterAll(async () => {
  client.release();
  await db.drop();
});

it('finds the keys whose time is over without reading those that sign', async () => {
  await db.query(`
    insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key, state, expires_at)
    select gen_random_uuid(), gen_random_uuid(), 'wb1', '', '', state, expires_at
    from generate_series(1, 2000) n
    cross join lateral (select
      case when n % 100 = 0 then 'retiring' else 'active' end as state,
      case when n % 100 = 0 then now() + (n - 1000) * interval '1 hour' end as expires_at) k`);
  await db.query('analyze dkim_keys');
  const plan = await explainBoth(client, deleteExpiredDkimKeys(new Date(), 100));
  expect(plan.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  const read = plan.find((node) => node['Index Name'] === 'dkim_keys_retiring');
  expect(read?.['Actual Rows']).toBeLessThanOrEqual(10);
  expect(read?.['Actual Rows']).toBeGreaterThan(0);
});
