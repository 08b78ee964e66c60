import type { PoolClient } from 'pg';
import type { EntityManager, Logger } from 'typeorm';
import { DAY } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { createDataSource, poolOf } from '../../../src/database/pool/data-source';
import { Database } from '../../../src/database/pool/database.service';
import type { Statement } from '../../../src/database/statements/statement';
import type { Transaction } from '../../../src/database/statements/transaction';
import { SoftBounces, Suppression, SuppressionHashKey } from '../../../src/modules/suppressions/suppression.entity';
import {
  deleteExpired,
  findSuppressed,
  insertSuppressions,
  refuseListed,
} from '../../../src/modules/suppressions/sql/suppression-entries.sql';
import { recordSoftBounces } from '../../../src/modules/suppressions/sql/automatic-suppressions.sql';
import { SOFT_BOUNCE_RULE } from '../../../src/modules/suppressions/suppression';
import { SuppressionsRepository } from '../../../src/modules/suppressions/suppressions.repository';
import { explainBoth, explainPrepared, type PlanNode } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

const OWNER = { organizationId: newId(), mode: 'live' } as const;
const NOW = new Date('2026-01-05T12:00:00.000Z');
const ADDRESS = { ...OWNER, key: 'r7@x.example' };
const ROWS = 20_000;

/** Nine entries in ten are of one organization, one in a hundred of them a complaint, one in fifty has an expiry. */
const ENTRIES = `
  insert into suppressions
    (organization_id, mode, address_key, reason, id, email, source, suppressed_at, expires_at)
  select case when n % 10 > 0 then $1::uuid else gen_random_uuid() end, 'live', 'r' || n || '@x.example',
    case when n % 100 = 1 then 'spam_complaint' else 'hard_bounce' end, gen_random_uuid(), 'r' || n || '@x.example',
    'automatic', $2::timestamptz - n * interval '1 minute',
    case when n % 50 = 3 then $2::timestamptz + n * interval '1 minute' end
  from generate_series(1, ${ROWS}) n`;

const SOFT_BOUNCES = `
  insert into soft_bounces (organization_id, mode, address_key, bounced_at, last_bounced_at)
  select $1, 'live', 'r' || n || '@x.example', array[$2::timestamptz], $2::timestamptz - n * interval '1 minute'
  from generate_series(1, ${ROWS}) n`;

describe('on a list that has just been imported into an empty table', () => {
  it('reads only the requested entries, with the plan that was made before', async () => {
    const db = await openTestDatabase({ poolSize: 1 });
    const client = await poolOf(db.dataSource).connect();
    await client.query('set plan_cache_mode = force_generic_plan');
    await client.query('vacuum analyze suppressions');
    const addresses = Array.from({ length: 50 }, (_, n) => ({
      ...OWNER,
      key: `new${n}@x.example`,
      category: 'bulk' as const,
    }));
    const tenants = [OWNER.organizationId];
    for (const statement of [findSuppressed(addresses, NOW), refuseListed(addresses, NOW)]) {
      await explainPrepared(client, statement);
      await explainPrepared(client, statement, tenants);
    }
    await client.query(ENTRIES, [OWNER.organizationId, NOW]);
    for (const statement of [findSuppressed(addresses, NOW), refuseListed(addresses, NOW)]) {
      expectFrugal(await explainPrepared(client, statement), 50);
      expectFrugal(await explainPrepared(client, statement, tenants), 50);
    }
    client.release();
    await db.drop();
  });
});

describe('on a long list', () => {
  let db: OpenTestDatabase;
  let client: PoolClient | undefined;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    // Rows of a commit that is not on the disk yet are not marked as visible to all by the vacuum.
    await db.query('set synchronous_commit = on');
    await db.query(ENTRIES, [OWNER.organizationId, NOW]);
    await db.query(SOFT_BOUNCES, [OWNER.organizationId, NOW]);
    await waitFor(() => isVacuumed(), { what: 'a vacuum that marks all pages' });
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client?.release();
    await db.drop();
  });

  /** A connection that another test opens at the same moment may hold some pages back. */
  async function isVacuumed(): Promise<boolean> {
    await db.query('vacuum analyze suppressions, soft_bounces');
    const [row] = await db.query<{ isWhole: boolean }>(
      `select relallvisible = relpages as "isWhole" from pg_class where oid = 'suppressions'::regclass`,
    );
    return row?.isWhole === true;
  }

  const entry = { ...OWNER, addressKey: ADDRESS.key, reason: 'hard_bounce', id: newId(), email: ADDRESS.key } as const;
  const given = { ...entry, source: 'api', notes: null, suppressedAt: NOW, expiresAt: null } as const;

  it.each<[string, number, () => Statement<unknown>]>([
    ['check', 2, () => findSuppressed([ADDRESS], NOW)],
    ['add', 2, () => insertSuppressions(OWNER, [given], NOW)],
    [
      'count soft bounces',
      2,
      () => recordSoftBounces([{ ...OWNER, email: ADDRESS.key, at: NOW }], SOFT_BOUNCE_RULE, NOW),
    ],
    ['clear soft bounces', 10, () => deleteExpired('soft_bounces', new Date(NOW.getTime() - DAY), 10)],
    ['clear suppressions', 10, () => deleteExpired('suppressions', new Date(NOW.getTime() + 30 * DAY), 10)],
  ])('%s reads only the requested rows', async (_name, rows, make) => {
    expectFrugal(await explainBoth(client as PoolClient, make()), rows);
  });

  it('forget reads only the requested rows', async () => {
    const [forget] = await queriesOf((lists, manager) => lists.deleteSoftBounces(ADDRESS, { manager } as Transaction));
    expectFrugal(await explainBoth(client as PoolClient, forget as Statement<unknown>), 2);
  });

  it('accepting looks each address up', async () => {
    const addresses = Array.from({ length: 50 }, (_, n) => ({ ...OWNER, key: `r${n * 7}@x.example` }));
    expectFrugal(await explainBoth(client as PoolClient, findSuppressed(addresses, NOW)), 50);
    const tenants = [OWNER.organizationId];
    expectFrugal(await explainBoth(client as PoolClient, findSuppressed(addresses, NOW), tenants), 50);
    const mails = addresses.map((address) => ({ ...address, category: 'transactional' as const }));
    const unlisted = mails.map((mail) => ({ ...mail, key: `nobody-${mail.key}` }));
    expectFrugal(await explainBoth(client as PoolClient, refuseListed(unlisted, NOW)), 50);
  });

  it.each([
    ['the first page', {}, 60],
    ['a later page', { offset: 100 }, 160],
    ['the page after an entry', { after: { at: NOW.toISOString(), id: newId() } }, 60],
    [
      'the page after an entry, of a rare reason',
      { reason: 'spam_complaint', after: { at: NOW.toISOString(), id: newId() } },
      60,
    ],
    ['a page of a rare reason', { reason: 'spam_complaint' }, 60],
    ['the entries of one address', { keys: [ADDRESS.key] }, 1],
    ['the entries of an address with several keys', { keys: [ADDRESS.key, 'none@x.example'] }, 1],
  ] as const)('%s is read by index', async (_name, filter, rows) => {
    const [page] = await queriesOf((lists) => lists.page(OWNER, { limit: 50, offset: 0, ...filter }, NOW));
    expectFrugal(await explainBoth(client as PoolClient, page as Statement<unknown>), rows);
    const tenants = [OWNER.organizationId];
    expectFrugal(await explainBoth(client as PoolClient, page as Statement<unknown>, tenants), rows);
  });

  it.each([
    ['all', {}],
    ['a reason', { reason: 'hard_bounce' }],
  ] as const)('the entries of %s are counted in an index alone', async (_name, filter) => {
    const [, count] = await queriesOf((lists) => lists.page(OWNER, { limit: 50, offset: 0, ...filter }, NOW));
    for (const tenants of [undefined, [OWNER.organizationId]]) {
      const plan = await explainBoth(client as PoolClient, count as Statement<unknown>, tenants);
      expect(plan.filter((node) => node['Relation Name'] !== undefined).map((node) => node['Node Type'])).toEqual([
        'Index Only Scan',
        'Index Only Scan',
      ]);
    }
  });

  /** The repository's statements. */
  async function queriesOf(
    work: (lists: SuppressionsRepository, manager: EntityManager) => Promise<unknown>,
  ): Promise<Statement<unknown>[]> {
    const dataSource = await createDataSource(db.url, {
      poolSize: 1,
      entities: [Suppression, SoftBounces, SuppressionHashKey],
    }).initialize();
    try {
      const asked: Statement<unknown>[] = [];
      const logQuery = (text: string, values: unknown[] = []) => asked.push({ name: newId(), text, values });
      dataSource.setOptions({ logger: { logQuery } as unknown as Logger });
      const hashKeys = dataSource.getRepository(SuppressionHashKey);
      const lists = new SuppressionsRepository(
        new Database(dataSource),
        dataSource.getRepository(Suppression),
        hashKeys,
      );
      await work(lists, dataSource.manager);
      return asked;
    } finally {
      await dataSource.destroy();
    }
  }
});

function expectFrugal(plan: readonly PlanNode[], rows: number): void {
  const scans = plan.filter((node) => node['Relation Name'] !== undefined && node['Node Type'].includes('Scan'));
  expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
  const touched = scans.map((node) => {
    const once = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
    return once * (node['Actual Loops'] ?? 1);
  });
  expect(Math.max(0, ...touched)).toBeLessThanOrEqual(rows);
}
