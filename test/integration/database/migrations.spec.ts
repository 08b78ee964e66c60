import { Client } from 'pg';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createDataSource, dataSourceOptions } from '../../../src/database/pool/data-source';
import { migrate } from '../../../src/database/start/migrate';
import { MIGRATIONS } from '../../../src/database/schema/migrations';
import { BuildIndexesMigration, ForwardOnlyMigration } from '../../../src/database/migrations/forward-only';
import { fillWithAnyRows } from '../../factories/any-rows';
import { INSTEAD, RELEASED, SMALL_TABLES } from '../../setup/large-tables';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

/** As migrations run: see openDatabase. */
const sourceWith = (url: string, migrations: readonly (new () => MigrationInterface)[]) =>
  new DataSource({
    ...dataSourceOptions(url, { poolSize: 2, withoutTimeLimits: true }),
    migrations: [...migrations],
  }).initialize();

const ROWS = 20;

describe('migrations since release 0.1.0, on a full database', () => {
  let db: OpenTestDatabase;
  let runner: QueryRunner;
  let large: string[];

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    await db.query('drop schema public cascade; create schema public');
    const released = await sourceWith(db.url, MIGRATIONS.slice(0, RELEASED));
    await released.runMigrations();
    await released.destroy();
    const tables = await db.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and not relispartition and relname <> 'schema_migrations' order by 1`,
    );
    large = tables.map(({ name }) => name).filter((name) => !SMALL_TABLES.includes(name));
    const superuser = new Client(Object.assign(new URL(db.url), { username: 'postgres' }).href);
    await superuser.connect();
    await fillWithAnyRows(superuser, large, ROWS);
    await fillWithAnyRows(superuser, ['organizations'], 1);
    await superuser.end();
    runner = db.dataSource.createQueryRunner();
  });
  afterAll(async () => {
    await runner.release();
    await db.drop();
  });

  it('begin with tables that have rows', async () => {
    expect(large).toEqual(expect.arrayContaining(['emails', 'email_events', 'deliveries', 'suppressions']));
    for (const name of large) {
      const [row] = await db.query<{ count: number }>(`select count(*)::int from ${name}`);
      expect([name, row?.count]).toEqual([name, ROWS]);
    }
  });

  it('neither rewrite nor read through nor change tables that may be large', async () => {
    for (const migration of MIGRATIONS.slice(RELEASED)) {
      const instance: MigrationInterface = new migration();
      const isTransaction = instance.transaction ?? true;
      if (isTransaction) await runner.startTransaction();
      const faults = await faultsOf(runner, large, () => instance.up(runner));
      if (isTransaction) await runner.commitTransaction();
      expect([migration.name, isTransaction ? faults : []]).toEqual([migration.name, []]);
    }
  });

  it('leave processes of the release before a week to be replaced, until rows record several events', async () => {
    const [row] = await db.query<{ days: number }>(
      'select round(extract(epoch from compact_events_since() - now()) / 86400)::int as days',
    );
    expect(row?.days).toBe(7);
  });

  it.each([
    ['an index', 'create index i on emails (subject)', /^emails is read through under ShareLock/],
    ['a check', "alter table stats_hourly add check (mode <> '')", /^stats_hourly is read through under .*AccessExcl/],
    ['rows', 'update suppressions set source = source', /^suppressions has rows changed/],
    ['a default', 'alter table audit_log add n uuid default gen_random_uuid()', /^audit_log is rewritten/],
  ])('would be refused for %s', async (_what, sql, fault) => {
    await runner.startTransaction();
    const faults = await faultsOf(runner, large, () => runner.query(sql));
    await runner.rollbackTransaction();
    expect(faults).toContainEqual(expect.stringMatching(fault));
  });
});

/** What an unfinished transaction has read and changed of the rows of large tables, beside locks that hold others back. */
const WATCHED = `
  select coalesce(pg_partition_root(c.oid), c.oid)::regclass::text as name,
    sum(s.seq_tup_read + coalesce(s.idx_tup_fetch, 0))::int as read, sum(s.n_tup_ins + s.n_tup_upd + s.n_tup_del)::int as changed,
    (select string_agg(distinct mode, ', ') from pg_locks l
     where l.pid = pg_backend_pid() and l.relation = any (array_agg(c.oid))
       and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')) as locks
  from pg_class c join pg_stat_xact_user_tables s on s.relid = c.oid
  group by 1`;

interface Watched {
  readonly name: string;
  readonly read: number;
  readonly changed: number;
  readonly locks: string | null;
}

/** In words, what `work` does to the rows of tables. */
async function faultsOf(
  runner: QueryRunner,
  tables: readonly string[],
  work: () => Promise<unknown>,
): Promise<string[]> {
  const before = new Map(((await runner.query(WATCHED)) as Watched[]).map((row) => [row.name, row]));
  const files = await filesOf(runner, tables);
  await work();
  const after = (await runner.query(WATCHED)) as Watched[];
  const present = await filesOf(runner, tables);
  const rewritten = [...files].filter(([name, file]) => present.get(name) !== file);
  const used = after
    .filter(({ name }) => tables.includes(name))
    .flatMap(({ name, read, changed, locks }) => {
      const since = before.get(name);
      const isChanged = changed > (since?.changed ?? 0);
      const isRead = read > (since?.read ?? 0);
      return [
        ...(isChanged ? [`${name} has rows changed: ${INSTEAD.change}`] : []),
        ...(isRead && locks ? [`${name} is read through under ${locks}: ${INSTEAD.index}; ${INSTEAD.constraint}`] : []),
      ];
    });
  return [...rewritten.map(([name]) => `${name} is rewritten: ${INSTEAD.rewrite}`), ...used];
}

/** Which file holds each table or partition: another one after a rewrite. */
async function filesOf(runner: QueryRunner, tables: readonly string[]): Promise<Map<string, string>> {
  const rows = (await runner.query(
    `select c.oid::regclass::text as name, pg_relation_filenode(c.oid)::text as file from pg_class c
     where c.relkind = 'r' and coalesce(pg_partition_root(c.oid), c.oid)::regclass::text = any ($1)`,
    [tables],
  )) as { name: string; file: string }[];
  return new Map(rows.map(({ name, file }) => [name, file]));
}

class AddColumn1800000000001 extends ForwardOnlyMigration {
  protected readonly sql = 'alter table emails add column added integer';
}

class BuildIndexes1800000000002 extends BuildIndexesMigration {
  protected readonly indexes = [
    { name: 'emails_by_subject', table: 'emails', definition: '(organization_id, subject) where mode = $$live$$' },
    { name: 'organizations_by_name', table: 'organizations', unique: true, definition: '(name)' },
    { name: 'organizations_weighted', table: 'organizations', definition: '(id) where weight > 1', replaces: true },
  ];
}

describe('a migration', () => {
  let db: OpenTestDatabase;
  beforeEach(async () => {
    db = await openTestDatabase({ poolSize: 2 });
  });
  afterEach(() => db.drop());

  /** Runs a session that is in the middle of something. */
  const busy = async (text: string) => {
    const client = new Client(db.url);
    await client.connect();
    await client.query(`begin; ${text}`);
    return client;
  };
  const indexes = () =>
    db.query<{ name: string }>(
      `select indexrelid::regclass::text as name from pg_index where indisvalid
         and indexrelid::regclass::text ~ '^(emails|organizations)_by_[a-z]+$' order by 1`,
    );

  it('gives way to the holder of a lock on the table, and comes back', async () => {
    const reader = await busy('select from emails');
    const source = await sourceWith(db.url, [AddColumn1800000000001]);
    const waits: string[] = [];
    const done = migrate(source, { log: (message) => waits.push(message), pauseMs: 20 });
    await waitFor(() => waits.length > 0, { what: 'the migration to give way' });
    // No statement waits behind it now: it is not in the queue for the lock.
    await db.query('lock table emails in row exclusive mode nowait').catch((error: Error) => {
      expect(error.message).toMatch(/transaction block/);
    });
    await reader.end();
    expect(await done).toEqual(['AddColumn1800000000001']);
    await source.destroy();
  });

  it('names the lock that it could not get when it gives up', async () => {
    const reader = await busy('select from emails');
    const source = await sourceWith(db.url, [AddColumn1800000000001]);
    await expect(migrate(source, { attempts: 1 })).rejects.toThrow(/lock timeout/);
    expect(await migrate(await createDataSource(db.url, { poolSize: 2 }).initialize())).toEqual([]);
    await reader.end();
    await source.destroy();
  });

  it('builds the indexes of large tables while others write, on every partition, and continues where it failed', async () => {
    const ids = await db.query<{ id: string }>(
      `insert into organizations (id, name) select gen_random_uuid(), 'twice' from generate_series(1, 2) returning id`,
    );
    const source = await sourceWith(db.url, [BuildIndexes1800000000002]);
    await expect(migrate(source)).rejects.toThrow(/could not create unique index/);
    expect((await indexes()).map(({ name }) => name)).toEqual(['emails_by_subject']);
    await db.query(`update organizations set name = 'once' where id = $1`, [ids[0]?.id]);

    // Two processes that start at once: the one that waits for its turn must not hold back the build.
    const other = await sourceWith(db.url, [BuildIndexes1800000000002]);
    const applied = await Promise.all([migrate(source), migrate(other)]);
    expect(applied.flat()).toEqual(['BuildIndexes1800000000002']);
    expect((await indexes()).map(({ name }) => name)).toEqual(['emails_by_subject', 'organizations_by_name']);
    const [bare] = await db.query<{ count: number }>(
      `select count(*)::int from pg_inherits i where inhparent = 'emails'::regclass and not exists (
         select from pg_index x join pg_inherits p on p.inhrelid = x.indexrelid
         where x.indrelid = i.inhrelid and x.indisvalid and p.inhparent = 'emails_by_subject'::regclass)`,
    );
    expect(bare?.count).toBe(0);
    const [replaced] = await db.query<{ text: string }>(
      `select pg_get_indexdef('organizations_weighted'::regclass) as text`,
    );
    expect(replaced?.text).toContain('weight > 1');
    await Promise.all([source.destroy(), other.destroy()]);
  });
});
