import { Logger } from '@nestjs/common';
import { HealthService } from '../../../src/modules/health/health.service';
import { HealthModule } from '../../../src/modules/health/health.module';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { StatsReportService } from '../../../src/modules/stats/stats-report.service';
import { StatsModule } from '../../../src/modules/stats/stats.module';
import { EmailsModule } from '../../../src/modules/emails/emails.module';
import { ReadDatabase } from '../../../src/database/pool/read-database.service';
import { TcpProxy } from '../../doubles/tcp-proxy';
import { sendBody } from '../../factories/send-requests';
import { createTenant, type Tenant } from '../../factories/tenants';
import { contextOf, type Core, processOf, testConfig } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

/** A database of its own stands for the replica, so that it shows which one was read: its rows differ from the primary's. */
describe('a replica for reads', () => {
  let db: OpenTestDatabase;
  let replica: OpenTestDatabase;
  let proxy: TcpProxy;
  let process: Core;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase();
    replica = await openTestDatabase();
    // Functions of this schema take the place of Postgres' own.
    await replica.query(`
      create schema pretence;
      create function pretence.pg_is_in_recovery() returns boolean language sql as 'select true';
      create table pretence.replayed (log_end pg_lsn);
      create function pretence.pg_last_wal_replay_lsn() returns pg_lsn language sql as 'select log_end from pretence.replayed'`);
    await replicaIs('clock_timestamp()');
    const name = await nameOf(replica);
    await replicaIsCopyOf(await nameOf(db));
    await replica.query(`alter database ${name} set search_path = pretence, pg_catalog, public`);
    const { proxy: before, url } = await TcpProxy.before(replica.url);
    proxy = before;
    const config = testConfig({ DATABASE_URL: db.url, DATABASE_READ_URL: url });
    const imports = [EmailsModule, StatsModule, HealthModule];
    process = await contextOf(await processOf({ config, databaseUrl: db.url, imports }).compile());
    tenant = await createTenant(db);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await process.close();
    await proxy.stop();
    await db.drop();
  });

  /** @param newest when its newest commit was made */
  const replicaIs = (newest: string) =>
    replica.query(`
      create or replace function pretence.pg_last_xact_replay_timestamp() returns timestamptz
      language sql as $$ select ${newest} $$`);
  const nameOf = async (database: OpenTestDatabase) => {
    const [{ name }] = (await database.query('select pg_catalog.current_database() as name')) as [{ name: string }];
    return name;
  };
  const isCopyOf = (name: string) =>
    `create or replace function pretence.current_database() returns name language sql as $$ select '${name}'::name $$`;
  const replicaIsCopyOf = (name: string) => replica.query(isCopyOf(name));
  const isUsed = () =>
    waitFor(() => process.get(ReadDatabase).health?.use === 'used', { what: 'the replica to be used' });
  const list = async () => {
    const { emails, total } = await process.get(EmailsService).list(tenant.as('live'), {}, { page: 1, limit: 20 });
    return [emails.length, total];
  };
  const accepted = async () => {
    const hour = new Date();
    const period = { from: new Date(hour.getTime() - 3_600_000), to: new Date(hour.getTime() + 3_600_000) };
    return (await process.get(StatsReportService).totals(tenant.as('live'), period)).accepted;
  };
  const replicaHealth = async () => (await process.get(HealthService).report()).services.replica;

  it('serves lists and statistics, and writes go to the primary', async () => {
    await isUsed();
    const { accepted: email } = await process
      .get(SendEmailsService)
      .sendOne(sendBody({}), undefined, tenant.as('live'));
    // What has been accepted is there at once.
    expect(await process.get(EmailsService).events(tenant.as('live'), email.id)).toHaveLength(1);
    expect(await db.query('select count(*)::int as emails from emails')).toEqual([{ emails: 1 }]);
    expect([await list(), await accepted()]).toEqual([[0, 0], 0]);
    expect(await replicaHealth()).toMatchObject({ healthy: true, use: 'used', lagSeconds: expect.any(Number) });
  });

  it('is not read where it is no standby but a server of its own, such as an old primary', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    const isStandby = (answer: boolean) =>
      `create or replace function pretence.pg_is_in_recovery() returns boolean language sql as 'select ${answer}'`;
    // At once: it is looked at all the time, and says something else of a standby with another name.
    await replica.query(`${isStandby(false)}; ${isCopyOf(await nameOf(replica))}`);
    await waitFor(() => process.get(ReadDatabase).health?.use === 'behind', { what: 'the replica to be left' });
    expect(warn.mock.lastCall?.[0]).toMatch(/^The replica is neither a standby nor the primary: lists, statistics/);
    expect([await list(), await accepted()]).toEqual([[1, 1], 1]);
    await replica.query(`${isStandby(true)}; ${isCopyOf(await nameOf(db))}`);
    await isUsed();
  });

  it('is not read where it is a standby of something else, such as another installation', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await replicaIsCopyOf(await nameOf(replica));
    await waitFor(() => process.get(ReadDatabase).health?.use === 'behind', { what: 'the replica to be left' });
    expect(warn.mock.lastCall?.[0]).toMatch(/^The replica is a standby of another server, or has another database: /);
    expect([await list(), await accepted()]).toEqual([[1, 1], 1]);
    await replicaIsCopyOf(await nameOf(db));
    await isUsed();
  });

  it('is not read while it is too far behind, and the health report shows it', async () => {
    await replicaIs(`clock_timestamp() - interval '45 seconds'`);
    await waitFor(() => process.get(ReadDatabase).health?.use === 'behind', { what: 'the replica to be behind' });
    expect([await list(), await accepted()]).toEqual([[1, 1], 1]);
    const health = await replicaHealth();
    expect(health).toMatchObject({ healthy: false, use: 'behind' });
    expect(Math.round(health?.lagSeconds ?? 0)).toBe(45);
    expect((await process.get(HealthService).report()).status).toBe('degraded');
    // Nothing has been committed since, and it has all of the log: it is as new as the primary.
    await replica.query(`insert into pretence.replayed values ('FFFFFFFF/0')`);
    await isUsed();
    expect(process.get(ReadDatabase).health?.lagSeconds).toBeLessThan(5);
    await replicaIs('clock_timestamp()');
    await isUsed();
  });

  it('is not read while nothing says how far behind it is: it has replayed nothing since its start', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await replica.query('delete from pretence.replayed');
    await replicaIs('null::timestamptz');
    await waitFor(() => process.get(ReadDatabase).health?.use === 'behind', { what: 'the replica to be behind' });
    expect(warn.mock.lastCall?.[0]).toMatch(/^The replica has replayed nothing since its start: lists, statistics/);
    expect(await replicaHealth()).toEqual({ healthy: false, use: 'behind' });
    await replicaIs('clock_timestamp()');
    await isUsed();
  });

  it('is skipped within seconds when it no longer responds, and used again when it does', async () => {
    await isUsed();
    proxy.hang();
    await waitFor(() => process.get(ReadDatabase).health?.use === 'away', { what: 'the replica to be away' });
    expect(await list()).toEqual([1, 1]);
    proxy.cut();
    proxy.restore();
    await isUsed();
  });

  it('is skipped at once when it is unavailable: the read that detects this runs on the primary', async () => {
    await isUsed();
    await replica.drop();
    expect(await list()).toEqual([1, 1]);
    await waitFor(() => process.get(ReadDatabase).health?.use === 'away', { what: 'the replica to be away' });
    expect(await accepted()).toBe(1);
    expect(await replicaHealth()).toEqual({ healthy: false, use: 'away' });
  });
});
