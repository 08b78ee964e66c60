import { appendFile, readFile, stat } from 'node:fs/promises';
import net from 'node:net';
import { MINUTE } from '../../../src/common/clock';
import { UnavailableError } from '../../../src/common/errors/app-error';
import { awaitUsableSchema } from '../../../src/bootstrap/await-schema';
import type { Logger } from '../../../src/common/logging/logger';
import { ConfigurationError } from '../../../src/config/load-config';
import { connectFor } from '../../../src/database/backup/dump-database';
import { createDataSource } from '../../../src/database/pool/data-source';
import { clusterPaths } from '../../../src/database/embedded/cluster-location';
import { attachEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import { MIGRATIONS } from '../../../src/database/schema/migrations';
import { openDatabase } from '../../../src/database/start/open-database';
import { readSchemaState } from '../../../src/database/schema/schema-state';
import { TcpProxy } from '../../doubles/tcp-proxy';
import { TransactionPooler } from '../../doubles/transaction-pooler';
import { freePort } from '../../setup/free-port';
import { testConfig } from '../../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { waitFor } from '../../setup/wait-for';
import { EmbeddedWorkshop, query } from '../embedded/support';

const silent = (): void => undefined;
const ALL_BUT_INTERVALS = [
  ...(['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setTimeout', 'clearTimeout'] as const),
];

describe('an external database', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase()));
  afterAll(() => database.drop());

  const config = (url = database.url, migrateOnStart = true) => ({
    dataDir: '/nonexistent',
    database: { url, poolSize: 2, migrateOnStart },
  });

  it('is taken as it is; stopping does nothing to it', async () => {
    const opened = await openDatabase(config(), { log: silent });
    expect(opened).toMatchObject({ url: database.url, embedded: false, applied: [] });
    await opened.stop();
    await expect(query(database.url, 'select 1 as one')).resolves.toEqual([{ one: 1 }]);
  });

  it('is migrated as the configuration says, or as the caller wants', async () => {
    await query(database.url, 'drop schema public cascade; create schema public');
    await expect(openDatabase(config(database.url, false), { log: silent })).resolves.toMatchObject({ applied: [] });
    await expect(openDatabase(config(), { log: silent, migrate: false })).resolves.toMatchObject({ applied: [] });
    const opened = await openDatabase(config(database.url, false), { log: silent, migrate: true });
    expect(opened.applied).toHaveLength(MIGRATIONS.length);
  });

  it("has an administrator's limits lifted for what may take long", async () => {
    const name = new URL(database.url).pathname.slice(1);
    const limits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    for (const limit of limits) await query(database.url, `alter database ${name} set ${limit} = '1min'`);
    const migrations = await createDataSource(database.url, { withoutTimeLimits: true }).initialize();
    const backup = await connectFor('backup', database.url);
    for (const limit of limits) {
      expect(await migrations.query(`show ${limit}`)).toEqual([{ [limit]: '0' }]);
      expect((await backup.query(`show ${limit}`)).rows).toEqual([{ [limit]: '0' }]);
      await query(database.url, `alter database ${name} reset ${limit}`);
    }
    await Promise.all([migrations.destroy(), backup.end()]);
  });

  it('is waited for', async () => {
    const { hostname, port } = new URL(database.url);
    const proxy = net.createServer((socket) => {
      const upstream = net.connect(Number(port), hostname);
      socket.pipe(upstream).pipe(socket);
      for (const end of [socket, upstream]) end.on('error', () => socket.destroy());
    });
    const late = await freePort();
    const url = new URL(database.url);
    url.port = String(late);
    const lines: string[] = [];
    const log = (line: string): void => {
      lines.push(line);
      // A further line, with another reason, comes where the first reply takes long.
      if (lines.length === 1) proxy.listen(late, '127.0.0.1');
    };
    const opened = await openDatabase(config(url.toString()), { log, migrate: false });
    expect(opened.url).toBe(url.toString());
    expect(lines[0]).toMatch(/^waiting for the database at .*: connect ECONNREFUSED/);
    expect(lines.join()).not.toContain(url.password);
    proxy.close();
  });

  it('that goes away once it has been opened is waited for again, when the schema is read', async () => {
    const { proxy, url } = await TcpProxy.before(database.url);
    proxy.cut();
    const said: string[] = [];
    // As a process does that finds the database back after its first report.
    const info = (line: string): void => void (said.push(line), proxy.restore());
    const logger = { info, warn: info } as unknown as Logger;
    const options = { config: testConfig(), logger, signal: new AbortController().signal };
    await awaitUsableSchema(url, options);
    expect(said).toEqual([expect.stringMatching(/^waiting for the database at .* for up to 60 s: /)]);
    await proxy.stop();
  });

  it('is given up after the time to wait', async () => {
    const url = `postgres://waybill:geheim@127.0.0.1:${await freePort()}/waybill?password=geheim`;
    const attempt = openDatabase(config(url), { log: silent, waitSeconds: 0 });
    await expect(attempt).rejects.toThrow(UnavailableError);
    await expect(attempt).rejects.toThrow(/^The database at 127\.0\.0\.1:\d+\/waybill cannot be reached: connect/);
  });

  it('is read as without the settings of its role, which would change dates and end statements', async () => {
    const own = await createTestDatabase();
    const name = new URL(own.url).pathname.slice(1);
    const alter = `alter database ${name} set`;
    await query(own.url, `${alter} datestyle = 'SQL, DMY'; ${alter} statement_timeout = '1ms'`);
    await openDatabase(config(own.url), { log: silent });
    const pool = await createDataSource(own.url).initialize();
    const [{ date }] = await pool.query(`select timestamptz '2026-02-01 00:00Z' as date from pg_sleep(0.01)`);
    expect(date).toEqual(new Date('2026-02-01T00:00:00Z'));
    await pool.destroy();
    await own.drop();
  });

  it('whose dates the driver cannot read is refused, with what to do, behind a pooler that passes on no settings', async () => {
    const own = await createTestDatabase();
    await query(own.url, `alter database ${new URL(own.url).pathname.slice(1)} set datestyle = 'SQL, DMY'`);
    const pooler = await TransactionPooler.start(own.url, 1);
    try {
      const opening = openDatabase(config(pooler.url), { log: silent });
      await expect(opening).rejects.toThrow(
        /writes dates in the style "SQL, DMY": run `alter database … set datestyle = 'ISO'`/,
      );
      await expect(opening).rejects.toBeInstanceOf(ConfigurationError);
    } finally {
      await pooler.stop();
      await own.drop();
    }
  });

  it('that cannot hold every character is refused before anything is made in it', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const latin = `${name}_latin`;
    await query(database.url, `create database ${latin} encoding 'LATIN1' locale 'C' template template0`);
    try {
      const opening = openDatabase(config(database.url.replace(name, latin)), { log: silent });
      await expect(opening).rejects.toThrow(
        /has the encoding LATIN1, which lacks characters of mail: use one made with/,
      );
      await expect(opening).rejects.toBeInstanceOf(ConfigurationError);
    } finally {
      await query(database.url, `drop database ${latin}`);
    }
  });

  it('has no direct way to another one, which would be migrated in its place', async () => {
    const other = await createTestDatabase();
    try {
      await query(other.url, 'drop schema public cascade; create schema public');
      const both = (directUrl: string) => {
        const { database: settings, ...rest } = config();
        return openDatabase({ ...rest, database: { ...settings, directUrl } }, { log: silent });
      };
      await expect(both(other.url)).rejects.toThrow(
        /DATABASE_DIRECT_URL: the database .* is not the one of DATABASE_URL/,
      );
      await expect(query(other.url, `select to_regclass('emails') as found`)).resolves.toEqual([{ found: null }]);
      const missing = both(database.url.replace(/\/[^/]*$/, '/no_such_database'));
      await expect(missing).rejects.toThrow(
        /DATABASE_DIRECT_URL: the database .*no_such_database refuses: .*does not exist/,
      );
      // Another way to the same one.
      await expect(both(`${database.url}?application_name=direct`)).resolves.toMatchObject({ embedded: false });
    } finally {
      await other.drop();
    }
  });

  it('names the direct way when that is the one that does not lead there', async () => {
    const both = (directUrl: string) => {
      const { database: settings, ...rest } = config();
      return openDatabase({ ...rest, database: { ...settings, directUrl } }, { log: silent, waitSeconds: 0 });
    };
    const away = await freePort();
    await expect(both(`postgres://waybill@127.0.0.1:${away}/direct`)).rejects.toThrow(
      new RegExp(`^The database of DATABASE_DIRECT_URL at 127.0.0.1:${away}/direct cannot be reached: connect`),
    );
    await expect(both(`${database.url}?sslmode=verify-full`)).rejects.toThrow(
      /DATABASE_DIRECT_URL: no connection to the database at .*SSL/,
    );
    await expect(both(`${database.url}?sslmode=verify-full&sslrootcert=/no/such/file`)).rejects.toThrow(
      /DATABASE_DIRECT_URL: a file that it names cannot be read: .*\/no\/such\/file/,
    );
  });

  it('whose search_path leads past the tables is refused, with what to do, and gets no second installation', async () => {
    const own = await createTestDatabase();
    const name = new URL(own.url).pathname.slice(1);
    try {
      await query(own.url, `create schema other; alter database ${name} set search_path = other`);
      const sentence = 'the tables are in the schema public, and the `search_path` leads to the schema other first';
      const found = await readSchemaState(own.url);
      expect(found).toMatchObject({ state: 'elsewhere', isUsable: false });
      expect(found.sentence).toContain(`${sentence}: run \`alter role … set search_path = public\``);
      expect(found.sentence).toMatch(/, or give a second installation a database of its own$/);
      await expect(openDatabase(config(own.url), { log: silent })).rejects.toThrow(ConfigurationError);
      await query(own.url, `alter database ${name} set search_path = other, public`);
      expect(await readSchemaState(own.url)).toMatchObject({ state: 'elsewhere', isUsable: true });
      await expect(openDatabase(config(own.url), { log: silent })).rejects.toThrow(`DATABASE_URL: ${sentence}`);
      await query(own.url, `alter database ${name} set search_path = nowhere`);
      expect((await readSchemaState(own.url)).sentence).toContain('the `search_path` leads to no schema first');
      await expect(query(own.url, `select from pg_tables where schemaname = 'other'`)).resolves.toEqual([]);
    } finally {
      await own.drop();
    }
  });

  it('in which its user may make no tables is refused, with what to do', async () => {
    const own = await createTestDatabase();
    const name = new URL(own.url).pathname.slice(1);
    try {
      await query(own.url, `drop schema public cascade; alter database ${name} set search_path = nowhere`);
      const nowhere = openDatabase(config(own.url), { log: silent });
      await expect(nowhere).rejects.toThrow(
        /no schema has been selected.* its `search_path` has to lead to their schema/,
      );
      await expect(nowhere).rejects.toThrow(ConfigurationError);
      await query(
        own.url,
        `create schema public; grant usage on schema public to public; alter database ${name} reset search_path`,
      );
      await query(own.url, `alter database ${name} set role = waybill_tenant`);
      const closed = openDatabase(config(own.url), { log: silent });
      await expect(closed).rejects.toThrow(
        /permission denied.*: its user has to own the database \(`alter database … owner to …`\) and the tables/,
      );
    } finally {
      await own.drop();
    }
  });

  it('tells older releases of a part of the migrations too, and of what a killed process has left out', async () => {
    const own = await createTestDatabase();
    const origin = () => query(own.url, `select obj_description('schema_migrations'::regclass, 'pg_class') as origin`);
    try {
      const expected = await origin();
      const stale = (release: string) =>
        query(
          own.url,
          `comment on table schema_migrations is 'Made by release 0.0.1, for releases from ${release} on'`,
        );
      await stale('0.0.1');
      await openDatabase(config(own.url), { log: silent });
      expect(await origin()).toEqual(expected);
      await query(own.url, 'drop schema public cascade; create schema public; create table webhook_endpoints ()');
      await expect(openDatabase(config(own.url), { log: silent })).rejects.toThrow(
        '"webhook_endpoints" already exists',
      );
      expect(await origin()).toEqual(expected);
    } finally {
      await own.drop();
    }
  });

  it('that refuses is not waited for', async () => {
    const wrongName = new URL(database.url);
    wrongName.pathname = '/waybill_test_nobody';
    const wrongPassword = new URL(database.url);
    wrongPassword.password = 'geheim';
    for (const url of [wrongName, wrongPassword]) {
      const attempt = openDatabase(config(url.toString()), { log: silent });
      await expect(attempt).rejects.toThrow(ConfigurationError);
      await expect(attempt).rejects.toThrow(/DATABASE_URL: the database at .* refuses: /);
      await expect(attempt).rejects.not.toThrow(/geheim/);
    }
    await expect(openDatabase(config('postgres://[x'), { log: silent })).rejects.toThrow('not a valid URL');
    const certificate = openDatabase(config(`${database.url}?sslmode=verify-full&sslrootcert=/no/such/file`), {
      log: silent,
    });
    await expect(certificate).rejects.toThrow(/DATABASE_URL: a file that it names cannot be read: .*\/no\/such\/file/);
    await expect(certificate).rejects.toThrow(ConfigurationError);
  });
});

describe('the embedded database', () => {
  const workshop = new EmbeddedWorkshop();
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await workshop.newDataDir();
    await (await workshop.start(dataDir)).stop();
  });
  afterEach(() => workshop.stopServers());
  afterAll(() => workshop.cleanUp());

  const config = () => ({ dataDir, database: { url: undefined, poolSize: 2, migrateOnStart: true } });
  const running = () => attachEmbeddedPostgres(dataDir);

  it('is started, migrated, and stopped again', async () => {
    const lines: string[] = [];
    const opened = await openDatabase(config(), { log: (line) => lines.push(line) });
    expect(opened).toMatchObject({ embedded: true, url: await running() });
    expect(opened.applied).toHaveLength(MIGRATIONS.length);
    await opened.stop();
    await expect(running()).resolves.toBeUndefined();
    expect(lines).toEqual([
      expect.stringContaining('Postgres started'),
      expect.stringContaining(`applied ${MIGRATIONS.length} migrations`),
      'Postgres stopped',
    ]);
  });

  it('is attached to, and left running by a process that did not start it', async () => {
    const service = await openDatabase(config(), { log: silent });
    const command = await openDatabase(config(), { log: silent });
    expect(command.url).toBe(service.url);
    await command.stop();
    await expect(running()).resolves.toBe(service.url);
    await service.stop();
    await expect(running()).resolves.toBeUndefined();
  });

  it('stays up for a service that came while a command had started it, until that service ends', async () => {
    const command = await openDatabase(config(), { log: silent });
    const service = await openDatabase(config(), { log: silent, stopWhenLast: true });
    // The service has no connection of its own yet.
    await command.stop();
    await expect(running()).resolves.toBe(service.url);
    await service.stop();
    await expect(running()).resolves.toBeUndefined();
  });

  it('has the shared buffers of the configuration from its start on, and logs it when it was started with others', async () => {
    const lines: string[] = [];
    const open = (embeddedSharedBuffersMegabytes: number) => {
      const { database } = config();
      return openDatabase(
        { dataDir, database: { ...database, embeddedSharedBuffersMegabytes } },
        { log: (line) => lines.push(line), stopWhenLast: true },
      );
    };
    const first = await open(48);
    const buffers = () => query(first.url, "select current_setting('shared_buffers') as size");
    expect(await buffers()).toEqual([{ size: '48MB' }]);
    await (await open(48)).stop();
    expect(lines.join()).not.toContain('until it is started again');
    await (await open(64)).stop();
    expect(lines).toContain('Postgres runs with shared_buffers = 48MB, not 64MB, until it is started again');
    expect(await buffers()).toEqual([{ size: '48MB' }]);
    await first.stop();
  });

  it('keeps its log small for as long as it runs, and continues to write it', async () => {
    jest.useFakeTimers({ doNotFake: ALL_BUT_INTERVALS });
    const opened = await openDatabase(config(), { log: silent, migrate: false });
    const { log } = clusterPaths(opened.folder!);
    const size = async () => (await stat(log)).size;
    await appendFile(log, 'x'.repeat(11 * 1024 * 1024));
    jest.advanceTimersByTime(10 * MINUTE);
    await waitFor(async () => (await size()) < 1024, { what: 'the log to be emptied' });
    expect((await stat(`${log}.1`)).size).toBeGreaterThan(11 * 1024 * 1024);
    await query(opened.url, 'select no_such_column').catch(() => undefined);
    const text = await readFile(log, 'utf8');
    expect(text).toMatch(/^\S.*no_such_column/m);
    expect(text).not.toContain('\0');
    await opened.stop();
  });

  it('is stopped again when it cannot be migrated', async () => {
    const { url } = await workshop.start(dataDir);
    await query(url, `drop schema public cascade; create schema public; create table organizations ()`);
    await workshop.stopServers();
    const stdout = jest.spyOn(console, 'log').mockImplementation();
    await expect(openDatabase(config(), { log: silent })).rejects.toThrow(
      'The schema could not be brought up to date: relation "organizations" already exists',
    );
    expect(stdout).not.toHaveBeenCalled();
    stdout.mockRestore();
    await expect(running()).resolves.toBeUndefined();
  });
});
