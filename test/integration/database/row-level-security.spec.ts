import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createDataSource, dataSourceOptions, poolOf } from '../../../src/database/pool/data-source';
import { databaseErrorCode } from '../../../src/database/statements/database-errors';
import { UnavailableError } from '../../../src/common/errors/app-error';
import { enterTenant, startRequest, withinTenants } from '../../../src/common/tenant';
import { newId } from '../../../src/common/ids';
import { migrate } from '../../../src/database/start/migrate';
import { TenantDataSource } from '../../../src/database/pool/tenant-data-source';
import { fillWithRowsOf, rowOf, type TenantTable, tenantTables } from '../../factories/tenant-rows';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

/** insufficient_privilege: the policy, or a right that requests do not have. */
const REFUSED = '42501';

const ADVICE =
  'its migration says "organization_id uuid not null" and nothing of policies: src/database/statements/row-security.ts adds the policy ' +
  '`tenant` and the rights of requests at the end of `migrate`';

it('reports a database without a free connection as unavailable, within a scope and without', async () => {
  const db = await openTestDatabase({ poolSize: 1 });
  const options = dataSourceOptions(db.url, { poolSize: 1, connectTimeoutMs: 1_000 });
  const source = await new TenantDataSource({ ...options, rowLevelSecurity: true }).initialize();
  const holder = await poolOf(source).connect();
  await Promise.all([
    expect(source.query('select 1')).rejects.toThrow(UnavailableError),
    expect(withinTenants([newId()], () => source.query('select 1'))).rejects.toThrow(UnavailableError),
    expect(source.transaction((manager) => manager.query('select 1'))).rejects.toThrow(UnavailableError),
  ]);
  holder.release();
  await expect(source.query('select no_column')).rejects.toMatchObject({ code: '42703' });
  await source.destroy();
  await db.drop();
});

it('gives a request that has a connection another one, which counts: it would wait for itself', async () => {
  const db = await openTestDatabase({ poolSize: 1 });
  // Of eight connections one organization has three at a time.
  const options = dataSourceOptions(db.url, { poolSize: 8 });
  const source = await new TenantDataSource({ ...options, rowLevelSecurity: true }).initialize();
  const organizationId = newId();
  const inRequest = (work: () => Promise<unknown>) => {
    const begun = new Promise<unknown>((resolve) => {
      startRequest({ method: 'POST', url: '/v1/domains' }, new Promise<void>((close) => void ended.push(close)), () => {
        enterTenant(organizationId);
        resolve(work());
      });
    });
    return begun;
  };
  const ended: (() => void)[] = [];
  const [other, ...runners] = Array.from({ length: 5 }, () => source.createQueryRunner());
  await inRequest(async () => {
    for (const runner of runners) await runner.connect();
  });
  let isConnected = false;
  const waiting = inRequest(async () => {
    await other?.connect();
    isConnected = true;
  });
  // Outside of requests.
  await source.query('select 1');
  expect(isConnected).toBe(false);
  for (const runner of runners) await runner.release();
  await waiting;
  await other?.release();
  for (const end of ended) end();
  await source.destroy();
  await db.drop();
});

describe('row-level security, table by table', () => {
  const [mine, theirs] = [newId(), newId()];
  let db: OpenTestDatabase;
  let source: TenantDataSource;
  let tables: TenantTable[];

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    tables = await tenantTables(db);
    await fillWithRowsOf(db, tables, [mine, theirs]);
    source = await new TenantDataSource({ ...dataSourceOptions(db.url), rowLevelSecurity: true }).initialize();
  });
  afterAll(async () => {
    await source.destroy();
    await db.drop();
  });

  const ownersIn = async ({ name, column }: TenantTable) =>
    (await source.query<{ id: string }[]>(`select ${column}::text as id from ${name} order by 1`)).map(({ id }) => id);
  const forEachTable = async <T>(work: (table: TenantTable) => Promise<T>) =>
    Object.fromEntries(await Promise.all(tables.map(async (table) => [table.name, await work(table)] as const)));
  const inEachTable = <T>(value: T) => Object.fromEntries(tables.map(({ name }) => [name, value]));
  const codeOf = (work: Promise<unknown>) => work.then(() => 'no error', databaseErrorCode);
  /** Rows that a statement changed, or why it could not. */
  const changedBy = (text: string, values: unknown[]) =>
    source.query<[unknown, number]>(text, values).then(([, count]) => count, databaseErrorCode);

  it('is on although the database switches it off for its sessions', async () => {
    const name = new URL(db.url).pathname.slice(1);
    await db.query(`alter database "${name}" set row_security = off`);
    const other = await new TenantDataSource({ ...dataSourceOptions(db.url), rowLevelSecurity: true }).initialize();
    try {
      expect(await other.query('show row_security')).toEqual([{ row_security: 'off' }]);
      const seen = withinTenants([mine], () => other.query<{ id: string }[]>('select id from organizations'));
      expect(await seen).toEqual([{ id: mine }]);
    } finally {
      await other.destroy();
      await db.query(`alter database "${name}" reset row_security`);
    }
  });

  it('is on for every table with an organization', async () => {
    expect(source.rowSecurity).toEqual({ state: 'on', role: 'waybill_tenant' });
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['emails', 'organizations', 'audit_log']));
    const policies = await db.query<{ table: string; isAsWritten: boolean }>(
      `select p.tablename as "table",
         policyname = 'tenant' and permissive = 'PERMISSIVE' and cmd = 'ALL' and roles = '{public}' and with_check is null
           and qual ~ 'WHEN \\((organization_)?id = ANY .*waybill.organizations' as "isAsWritten"
       from pg_policies p where schemaname = 'public'`,
    );
    const asWritten = policies.filter(({ isAsWritten }) => isAsWritten).map(({ table }) => table);
    const without = tables.filter(({ name }) => !asWritten.includes(name));
    expect(without.map(({ name }) => `${name}: ${ADVICE}`)).toEqual([]);
    expect(policies.filter(({ isAsWritten }) => !isAsWritten)).toEqual([]);
  });

  it('shows a tenant its own rows, several tenants theirs, and a statement without a tenant nothing', async () => {
    expect(await withinTenants([mine], () => forEachTable(ownersIn))).toEqual(inEachTable([mine]));
    expect(await withinTenants([mine, theirs], () => forEachTable(ownersIn))).toEqual(inEachTable([mine, theirs]));
    expect(await withinTenants([], () => forEachTable(ownersIn))).toEqual(inEachTable([]));
    expect(await forEachTable(ownersIn)).toEqual(inEachTable([mine, theirs]));
  });

  it('shows nothing to the role without a tenant', async () => {
    const found = await source.transaction(async (manager) => {
      await manager.query('set local role waybill_tenant');
      return forEachTable(({ name }) => manager.query(`select 1 from ${name}`));
    });
    expect(found).toEqual(inEachTable([]));
  });

  it('lets no tenant insert, change or delete the rows of another one, nor give its own away', async () => {
    const attempts = async (table: TenantTable, { name, column } = table) => ({
      insert: await codeOf(source.query(...rowOf(table, theirs))),
      change: await changedBy(`update ${name} set ${column} = ${column} where ${column} = $1`, [theirs]),
      delete: await changedBy(`delete from ${name} where ${column} = $1`, [theirs]),
      giveAway: await codeOf(source.query(`update ${name} set ${column} = $2 where ${column} = $1`, [mine, theirs])),
    });
    for (const table of tables) {
      const mayWrite = table.name !== 'organizations';
      expect([table.name, await withinTenants([mine], () => attempts(table))]).toEqual([
        table.name,
        { insert: REFUSED, change: mayWrite ? 0 : REFUSED, delete: mayWrite ? 0 : REFUSED, giveAway: REFUSED },
      ]);
    }
    expect(await forEachTable(ownersIn)).toEqual(inEachTable([mine, theirs]));
  });

  it('has no way round by a partition', async () => {
    const partitions = await db.query<{ name: string }>('select relname as name from pg_class where relispartition');
    expect(partitions.length).toBeGreaterThan(10);
    for (const { name } of partitions.filter((partition) => !/pkey|_idx/.test(partition.name))) {
      const read = codeOf(withinTenants([mine], () => source.query(`select 1 from ${name}`)));
      expect([name, await read]).toEqual([name, REFUSED]);
    }
  });
});

describe('the role of requests', () => {
  const suffix = randomBytes(4).toString('hex');
  const names: string[] = [];
  const administration = new URL(process.env.WAYBILL_TEST_CLUSTER_URL ?? '');
  administration.username = 'postgres';

  const administer = async (...statements: string[]) => {
    const client = new Client(administration.href);
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  /** A user with a database of its own, called alike. */
  const createUser = async (name: string, rights = ''): Promise<string> => {
    names.push(name);
    await administer(`create role ${name} login password 'secret' ${rights}`, `create database ${name} owner ${name}`);
    return Object.assign(new URL(administration.href), { username: name, password: 'secret', pathname: `/${name}` })
      .href;
  };
  const migrated = async (url: string) => {
    const source = await createDataSource(url, { poolSize: 2, withoutTimeLimits: true }).initialize();
    try {
      await migrate(source);
    } finally {
      await source.destroy();
    }
    return examine(url);
  };
  const examine = async (url: string, rowLevelSecurity = true) => {
    const source = await new TenantDataSource({ ...dataSourceOptions(url), rowLevelSecurity }).initialize();
    await source.destroy();
    return source.rowSecurity;
  };
  afterAll(async () => {
    for (const name of names) {
      await administer(`drop database if exists ${name} with (force)`, `drop role if exists ${name}_tenant, ${name}`);
    }
  });

  it('is set up by a user with the right to do so', async () => {
    const name = `waybill_test_able_${suffix}`;
    expect(await migrated(await createUser(name, 'createrole'))).toEqual({ state: 'on', role: `${name}_tenant` });
  });

  it('is reported with the remedy by a user without that right', async () => {
    const name = `waybill_test_poor_${suffix}`;
    const url = await createUser(name);
    const missing = await migrated(url);
    expect(missing).toMatchObject({
      state: 'unavailable',
      reason: expect.stringContaining(`${name} may not create it`),
    });
    const [remedy] = /create role .*;(?= then)/.exec('reason' in missing ? missing.reason : '') ?? [];
    await administer(remedy ?? 'no remedy');
    expect(await examine(url)).toMatchObject({
      reason: expect.stringMatching(/api_keys, .* are not restricted: run waybill/),
    });
    expect(await migrated(url)).toEqual({ state: 'on', role: `${name}_tenant` });
    expect(await examine(url, false)).toEqual({ state: 'off' });
  });

  it('reports a table that has lost its policy, and the next migration repairs it', async () => {
    const db = await openTestDatabase({ poolSize: 1 });
    await db.query('drop policy tenant on emails; alter table emails disable row level security');
    const reason = 'emails are not restricted: run waybill migrate';
    expect(await examine(db.url)).toEqual({ state: 'unavailable', reason });
    expect(await migrated(db.url)).toMatchObject({ state: 'on' });
    await db.drop();
  });
});
