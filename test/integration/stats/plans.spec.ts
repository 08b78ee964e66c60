import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { DAY, HOUR } from '../../../src/common/clock';
import { firstIdAt } from '../../../src/common/ids';
import { createDataSource, poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import { countOpen } from '../../../src/delivery/queue/sql/open-deliveries.sql';
import { recountAccepted } from '../../../src/modules/emails/outcomes/sql/stats-check.sql';
import { recountEvents } from '../../../src/modules/emails/outcomes/sql/stats-check.sql';
import {
  countEmails,
  sumByBoth,
  sumByDomain,
  sumByHour,
  sumPeriod,
} from '../../../src/modules/stats/sql/sum-period.sql';
import { sumLive } from '../../../src/modules/stats/sql/live-sums.sql';
import { loadSkewedData } from '../../factories/skewed-data';
import { explainPrepared, type PlanNode } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const DAYS = 10;
const DOMAINS = 20;
const WINDOW_DAYS = 2;
const END = Math.floor(Date.now() / HOUR) * HOUR;
const PERIOD = { from: new Date(END - WINDOW_DAYS * DAY), to: new Date(END) };

interface Facts {
  organizationId: string;
  domainId: string;
}

const scope = (facts: Facts) => ({ ...facts, mode: 'live' as const });
const all = (facts: Facts) => ({ ...scope(facts), domainId: undefined });

/** The most rows that one of the statements may read. */
const MOST = WINDOW_DAYS * 24 * DOMAINS;

/** The statements of the responses. */
const SUMS: Record<string, (facts: Facts) => Statement<unknown>> = {
  total: (facts) => sumPeriod(all(facts), PERIOD),
  'total of a domain': (facts) => sumPeriod(scope(facts), PERIOD),
  'by domain': (facts) => sumByDomain(all(facts), PERIOD, { skip: 0, take: 1_001 }),
  'by hour': (facts) => sumByHour(all(facts), PERIOD),
  'by hour of a domain': (facts) => sumByHour(scope(facts), PERIOD),
  'by domain and hour': (facts) => sumByBoth(all(facts), PERIOD),
  'since a moment': (facts) => sumLive([{ ...facts, since: PERIOD.from }]),
  emails: (facts) => countEmails({ ...all(facts), ...PERIOD }),
};

const PAGE = 100;
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const FROM_THEN = { after: firstIdAt(new Date(END - 70 * DAY)), from: new Date(0), to: new Date(END + DAY) };

/** Statements beside them, with the big tables' rows that they may read. */
const PAGES: Record<string, { build: (facts: Facts) => Statement<unknown>; rows: number }> = {
  'open recipients': {
    build: (facts) => countOpen({ ...all(facts), fromId: firstIdAt(new Date(0)), toId: LAST_ID }, PAGE, new Date()),
    rows: PAGE,
  },
  'a page of events': {
    build: (facts) => recountEvents({ ...all(facts), ...FROM_THEN }, PAGE),
    // Each event with its email.
    rows: 2 * PAGE,
  },
  'a page of emails': {
    build: (facts) => recountAccepted({ ...all(facts), ...FROM_THEN }, LAST_ID, PAGE),
    rows: 2 * PAGE,
  },
};

/** Hours of one domain each of 400 organizations, and of many domains of one more. */
const FILL = `
  insert into stats_hourly (organization_id, mode, domain_id, hour, emails, accepted, delivered)
  select o.id, 'live', d.id, $1::timestamptz - n * interval '1 hour', 5, 5, 5
  from (select gen_random_uuid() as id, o from generate_series(0, 400) o) o
  cross join lateral (
    select gen_random_uuid() as id from generate_series(1, case when o.o = 0 then ${DOMAINS} else 1 end)
  ) d
  cross join generate_series(1, ${DAYS * 24}) n`;

describe('statistics at scale', () => {
  let db: OpenTestDatabase;
  let dataSource: DataSource;
  const clients: Partial<Record<'early' | 'generic' | 'custom', PoolClient>> = {};
  let big: Facts;
  let skewed: Facts;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    dataSource = await createDataSource(db.url, { poolSize: 3 }).initialize();
    const early = (clients.early = await poolOf(dataSource).connect());
    const nobody = { organizationId: firstIdAt(new Date(0)), domainId: firstIdAt(new Date(0)) };
    for (const build of [...Object.values(SUMS), ...Object.values(PAGES).map((page) => page.build)]) {
      for (let run = 0; run < 7; run += 1) await early.query({ ...build(nobody) });
    }
    await db.query(FILL, [new Date(END)]);
    await loadSkewedData(db);
    await db.query(`update email_events set event_type = 'delivered'`);
    [big] = (await db.query<Facts>(
      `select organization_id as "organizationId", min(domain_id::text) as "domainId" from stats_hourly
       group by organization_id order by count(*) desc limit 1`,
    )) as [Facts];
    [skewed] = (await db.query<Facts>(
      `select organization_id as "organizationId", organization_id as "domainId" from emails
       group by organization_id order by count(*) desc limit 1`,
    )) as [Facts];
    await db.query('analyze');
    clients.generic = await poolOf(dataSource).connect();
    clients.custom = await poolOf(dataSource).connect();
    await clients.generic.query('set plan_cache_mode = force_generic_plan');
    await clients.custom.query('set plan_cache_mode = force_custom_plan');
  });
  afterAll(async () => {
    for (const client of Object.values(clients)) client.release();
    await dataSource.destroy();
    await db.drop();
  });

  /** Every client twice: without row-level security, and as a request of the organization. */
  const asServiceAndAs = ({ organizationId }: Facts) =>
    Object.values(clients).flatMap((client) => [[client, undefined] as const, [client, [organizationId]] as const]);

  it.each(Object.entries(SUMS))('reads the hours asked for and nothing else: %s', async (_name, build) => {
    for (const [client, tenants] of asServiceAndAs(big)) {
      const scans = scansOf(await explainPrepared(client, build(big), tenants));
      expect(new Set(scans.map((node) => node['Relation Name']))).toEqual(new Set(['stats_hourly', 'stats_deltas']));
      expect(readBy(scans)).toBeGreaterThan(0);
      // No other tenant's, and no other hour.
      expect(readBy(scans)).toBeLessThanOrEqual(MOST);
    }
  });

  it.each(Object.entries(PAGES))('reads a page at a time: %s', async (_name, { build, rows }) => {
    for (const [client, tenants] of asServiceAndAs(skewed)) {
      const scans = scansOf(await explainPrepared(client, build(skewed), tenants));
      expect(readBy(scans)).toBe(rows);
    }
  });
});

function scansOf(plan: readonly PlanNode[]): PlanNode[] {
  const scans = plan.filter((node) => node['Relation Name'] !== undefined);
  expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  return scans.filter((node) => (node['Actual Loops'] ?? 0) > 0);
}

function readBy(scans: readonly PlanNode[]): number {
  const read = (node: PlanNode) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
  return Math.round(scans.reduce((sum, node) => sum + read(node) * (node['Actual Loops'] ?? 0), 0));
}
