import { once } from 'node:events';
import net from 'node:net';
import { UnavailableError } from '../../../src/common/errors/app-error';
import { ConfigurationError } from '../../../src/config/load-config';
import { attachEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import { MIGRATIONS } from '../../../src/database/migrations';
import { openDatabase } from '../../../src/database/open-database';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { EmbeddedWorkshop, query } from '../embedded/support';

const silent = (): void => undefined;

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
      // A further line, with another reason, comes where the first answer takes long.
      if (lines.length === 1) proxy.listen(late, '127.0.0.1');
    };
    const opened = await openDatabase(config(url.toString()), { log, migrate: false });
    expect(opened.url).toBe(url.toString());
    expect(lines[0]).toMatch(/^waiting for the database at .*: connect ECONNREFUSED/);
    expect(lines.join()).not.toContain(url.password);
    proxy.close();
  });

  it('is given up after the time to wait', async () => {
    const url = `postgres://waybill:geheim@127.0.0.1:${await freePort()}/waybill?password=geheim`;
    const attempt = openDatabase(config(url), { log: silent, waitSeconds: 0 });
    await expect(attempt).rejects.toThrow(UnavailableError);
    await expect(attempt).rejects.toThrow(/^The database at 127\.0\.0\.1:\d+\/waybill cannot be reached: connect/);
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

  it('has the shared buffers of the configuration from its start on, and says so when it was started with others', async () => {
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

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
