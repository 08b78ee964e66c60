import type { PoolClient } from 'pg';
import { DAY } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import {
  returnRecipients,
  startWarmUp,
  writeScores,
} from '../../../src/modules/domains/restrictions/sql/restrictions.sql';
import { reserveRecipients } from '../../../src/modules/domains/restrictions/sql/reserve-recipients.sql';
import { DAILY_LIMITS, utcDay } from '../../../src/modules/domains/restrictions/warm-up-schedule';
import { sumLive } from '../../../src/modules/stats/sql/live-sums.sql';
import { createTenant, type Tenant } from '../../factories/tenants';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase, statement } from '../../setup/open-test-database';

const NOW = new Date('2026-01-05T12:00:00.000Z');

describe('the statements of the warm-up', () => {
  let db: OpenTestDatabase;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    tenant = await createTenant(db);
  });
  afterAll(() => db.drop());

  const reserve = (recipients: number, owner = tenant, now = NOW) =>
    reserveRecipients([{ ...owner, recipients }], DAILY_LIMITS, utcDay(now), now);

  it('grant the rest, and return the used part', async () => {
    const owner = await createTenant(db);
    const grant = async (recipients: number) => (await db.database.run(reserve(recipients, owner)))[0];
    expect(await grant(15)).toMatchObject({ status: 'not_started', limit: 20, granted: 15, used: 15 });
    expect(await grant(15)).toMatchObject({ limit: 20, granted: 5, used: 20 });
    expect(await grant(15)).toMatchObject({ limit: 20, granted: 0, used: 20 });
    const unused = { ...owner, day: utcDay(NOW) };
    await db.database.run(
      returnRecipients([
        { ...unused, recipients: 2 },
        { ...unused, recipients: 1 },
      ]),
    );
    expect(await grant(15)).toMatchObject({ granted: 3, used: 20 });
  });

  it('follow the schedule day by day', async () => {
    const owner = await createTenant(db);
    await db.query("update domains set warming_status = 'warming', warming_started_at = $1 where id = $2", [
      new Date('2026-01-05T23:59:59.000Z'),
      owner.domainId,
    ]);
    const limits: (number | null | undefined)[] = [];
    for (let day = 0; day < 36; day += 1) {
      const [row] = await db.database.run(reserve(1, owner, new Date(NOW.getTime() + day * DAY)));
      limits.push(row?.limit);
    }
    expect(limits).toEqual([...DAILY_LIMITS, null, null]);
  });

  it.each([
    ['reserve', () => reserve(1)],
    ['return', () => returnRecipients([{ ...tenant, day: utcDay(NOW), recipients: 1 }])],
  ])('%s without waiting for the disk, in their own transaction only', async (_name, make) => {
    const shown = statement<{ synchronous_commit: string }>('show synchronous_commit');
    await db.query('set synchronous_commit = on');
    const inside = await db.database.transaction(async (tx) => {
      await tx.run(make());
      return tx.run(shown);
    });
    expect(inside).toEqual([{ synchronous_commit: 'off' }]);
    expect(await db.database.run(shown)).toEqual([{ synchronous_commit: 'on' }]);
  });

  describe('on many domains', () => {
    let client: PoolClient | undefined;

    beforeAll(async () => {
      await db.query(
        `insert into domains (organization_id, id, domain, verification_token, warming_status, warming_started_at)
         select gen_random_uuid(), gen_random_uuid(), 'n' || n || '.example', 'token', 'warming', $1
         from generate_series(1, 20000) n`,
        [NOW],
      );
      await db.query(
        `insert into warm_up_usage (organization_id, domain_id, day, recipients, daily_limit, last_grant)
         select organization_id, id, $1, 1, 20, 1 from domains on conflict do nothing`,
        [utcDay(NOW)],
      );
      await db.query(
        `insert into stats_hourly (organization_id, mode, domain_id, hour, accepted)
         select organization_id, 'live', id, $1, 1 from domains`,
        [NOW],
      );
      await db.query('analyze');
      client = await poolOf(db.dataSource).connect();
    });
    afterAll(() => client?.release());

    it.each<[string, () => Statement<unknown>]>([
      ['reserve', () => reserve(1)],
      ['return', () => returnRecipients([{ ...tenant, day: utcDay(NOW), recipients: 1 }])],
      ['start', () => startWarmUp([tenant], NOW)],
      ['write scores', () => writeScores([{ ...tenant, score: 90 }])],
      [
        'sum live',
        () =>
          sumLive([
            { ...tenant, since: NOW },
            { organizationId: newId(), domainId: newId(), since: NOW },
          ]),
      ],
    ])('%s reads only the requested rows', async (_name, make) => {
      const nodes = await explainBoth(client as PoolClient, make());
      const scans = nodes.filter((node) => node['Relation Name'] !== undefined && node['Node Type'].includes('Scan'));
      expect(scans.length).toBeGreaterThan(0);
      expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
      for (const node of scans) {
        const touched = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
        expect(touched * (node['Actual Loops'] ?? 1)).toBeLessThanOrEqual(2);
      }
    });
  });
});
