import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { DataSource } from 'typeorm';
import { HOUR } from '../../../src/common/clock';
import { reasonOf, UnavailableError } from '../../../src/common/errors/app-error';
import { ConfigurationError } from '../../../src/config/load-config';
import { createDataSource, poolOf } from '../../../src/database/pool/data-source';
import { databaseErrorCode, isUnavailable } from '../../../src/database/statements/database-errors';
import { Database, DatabaseUrl } from '../../../src/database/pool/database.service';
import type { PatientPool } from '../../../src/database/pool/patient-pool';
import { PlannerStatistics } from '../../../src/database/pool/planner-statistics';
import { openDatabase } from '../../../src/database/start/open-database';
import { LeaseConnection } from '../../../src/delivery/queue/worker-sessions.repository';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { TcpProxy } from '../../doubles/tcp-proxy';
import { waitFor } from '../../setup/wait-for';

/** An error of the server (PostgreSQL documentation, "Message Formats"). */
function refusal(code: string): Buffer {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mno entry\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from('E'), length, body]);
}

const ONE = { name: 'one', text: 'select 1 as one', values: [] };

let database: TestDatabase;
let server: Server;
let url: string;
/** With a code, whoever connects is refused with it. */
let code: string | undefined;
const sockets = new Set<Socket>();
/** How long the server takes to open a connection. */
let openingMs = 0;
/** How many have been begun. */
let begun = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  const { hostname, port } = new URL(database.url);
  server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    const refused = code;
    if (refused !== undefined) return void socket.once('data', () => socket.end(refusal(refused)));
    begun += 1;
    const upstream = connect(Number(port), hostname).on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy()).pipe(upstream);
    setTimeout(() => upstream.pipe(socket), openingMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(database.url);
  through.port = String((server.address() as AddressInfo).port);
  url = through.toString();
});
afterAll(async () => {
  server.close();
  for (const socket of sockets) socket.destroy();
  await database.drop();
});

describe('a database that no longer lets the service in', () => {
  let source: DataSource;
  beforeAll(async () => (source = await createDataSource(url).initialize()));
  afterAll(() => source.destroy());
  afterEach(() => (code = undefined));

  it.each([
    ['another password', '28P01'],
    ['a role without the right to log in', '28000'],
    ['a database that was renamed', '3D000'],
    ['no right to connect', '42501'],
    ['a pooler without the protocol', '0A000'],
  ])('is unavailable, and not refusing what is sent to it: %s', async (_, refused) => {
    const service = new Database(source);
    expect(await service.run(ONE)).toEqual([{ one: 1 }]);
    code = refused;
    for (const socket of sockets) socket.destroy();
    await waitFor(() => poolOf(source).totalCount === 0, { what: 'the end of the connections' });
    const failures = await Promise.all([
      service.run(ONE).catch((error: unknown) => error),
      service.transaction((tx) => tx.run(ONE)).catch((error: unknown) => error),
    ]);
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(UnavailableError);
      expect(databaseErrorCode((failure as Error).cause)).toBe(refused);
    }
    expect(await source.query('select 1').catch(isUnavailable)).toBe(true);
    code = undefined;
    expect(await service.run(ONE)).toEqual([{ one: 1 }]);
  });

  it('is unavailable for the lease of a worker, which has a connection of its own', async () => {
    const lease = new LeaseConnection(new DatabaseUrl(url));
    code = '28P01';
    await expect(lease.run(ONE)).rejects.toThrow(UnavailableError);
    code = undefined;
    expect(await lease.run(ONE)).toEqual([{ one: 1 }]);
    lease.onApplicationShutdown();
  });

  it('is named for the lease by the variable with its address, where that is not the one of the pool', async () => {
    const lease = new LeaseConnection(new DatabaseUrl(database.url, url));
    code = '28P01';
    const error = await lease.run(ONE).catch(reasonOf);
    expect(error).toBe('The database at DATABASE_DIRECT_URL is temporarily unavailable: no entry');
    expect(await new LeaseConnection(new DatabaseUrl(url)).run(ONE).catch(reasonOf)).not.toContain('DIRECT_URL');
    lease.onApplicationShutdown();
  });
});

describe('a database that takes longer to open a connection than anybody waits for one', () => {
  const WAIT_MS = 50;

  beforeEach(() => (begun = 0));
  afterEach(() => (openingMs = 0));

  it('refuses those who wait, and serves the next ones by the connections that were opened for them', async () => {
    const source = await createDataSource(url, { poolSize: 2 }).initialize();
    const service = new Database(source);
    const pool = poolOf(source);
    (pool as PatientPool).waitMs = WAIT_MS;
    openingMs = 10 * WAIT_MS;
    for (const socket of sockets) socket.destroy();
    await waitFor(() => pool.totalCount === 0, { what: 'the end of the connections' });
    begun = 0;
    const refused = await Promise.all([1, 2, 3].map(() => service.run(ONE).catch((error: unknown) => error)));
    for (const failure of refused) expect(failure).toBeInstanceOf(UnavailableError);
    expect(await waitFor(() => service.run(ONE).catch(() => undefined), { what: 'a connection' })).toEqual([
      { one: 1 },
    ]);
    expect(begun).toBe(2);
    await source.destroy();
  });

  it('serves the lease of a worker by the connection that a renewal before could not wait for', async () => {
    const lease = new (class extends LeaseConnection {
      protected override readonly waitMs = WAIT_MS;
    })(new DatabaseUrl(url));
    openingMs = 10 * WAIT_MS;
    await expect(lease.run(ONE)).rejects.toThrow(UnavailableError);
    expect(await waitFor(() => lease.run(ONE).catch(() => undefined), { what: 'a renewal' })).toEqual([{ one: 1 }]);
    expect(begun).toBe(1);
    lease.onApplicationShutdown();
  });
});

describe('a database that falls silent while samples for its planner are taken', () => {
  let source: DataSource;
  let proxy: TcpProxy;
  let statistics: PlannerStatistics;
  beforeEach(async () => {
    source = await createDataSource(database.url).initialize();
    await source.query('analyze');
    const through = await TcpProxy.before(database.url);
    proxy = through.proxy;
    statistics = new PlannerStatistics(new Database(source), new DatabaseUrl(database.url, through.url));
  });
  afterEach(async () => {
    await Promise.all([source.destroy(), proxy.stop()]);
  });

  /** Renews them while another transaction has all tables, and the network swallows the answer. */
  async function begin() {
    const holder = source.createQueryRunner();
    await holder.startTransaction();
    await holder.query(`do $$ begin execute (
      select 'lock table ' || string_agg(oid::regclass::text, ', ') from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')); end $$`);
    const going = new AbortController();
    const outcome = statistics
      .renewOlderThan(new Date(Date.now() + HOUR), going.signal)
      .catch((error: unknown) => error);
    const waiting = `select from pg_stat_activity where query like 'analyze %' and wait_event_type = 'Lock'`;
    await waitFor(async () => (await source.query(waiting)).length === 1, { what: 'the statement' });
    proxy.hang();
    await holder.rollbackTransaction();
    await holder.release();
    return { outcome, going };
  }

  it('is given up, so that the job has its next turn', async () => {
    statistics.analyzeTimeoutMs = 1_000;
    expect(await (await begin()).outcome).toBeInstanceOf(UnavailableError);
  });

  it('does not hold up a process that ends', async () => {
    const { outcome, going } = await begin();
    going.abort();
    expect(await outcome).toHaveLength(1);
  });
});

describe('a start', () => {
  const open = (wanted: string, waitSeconds: number) =>
    openDatabase(
      { dataDir: '/nonexistent', database: { url: wanted, migrateOnStart: false } },
      { log: () => undefined, waitSeconds },
    ).catch((error: unknown) => error);

  it('says which setting is wrong when the server takes no encrypted connections', async () => {
    const failure = await open(`${database.url}?sslmode=verify-full`, 60);
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect((failure as ConfigurationError).problems).toEqual([
      expect.stringMatching(/^DATABASE_URL: no connection to the database at \S+: The server does not support SSL/),
    ]);
  });

  it('waits for a socket that is not there yet', async () => {
    expect(await open('postgres://u@localhost/db?host=/nonexistent', 0)).toBeInstanceOf(UnavailableError);
  });
});
