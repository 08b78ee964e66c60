import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Client } from 'pg';
import { SystemClock } from '../../../src/common/clock';
import { DatabaseProbe } from '../../../src/modules/health/database-probe';
import { FakeClock } from '../../doubles/fake-clock';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { waitFor } from '../../setup/wait-for';

const clock = new SystemClock();

describe('DatabaseProbe', () => {
  let server: Server;
  let sockets: Socket[];

  /** A database that takes connections and never says anything. */
  const listen = async (): Promise<string> => {
    sockets = [];
    server = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `postgres://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/waybill`;
  };
  const close = (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  };

  it('finds a closed port unreachable', async () => {
    const url = await listen();
    await close();
    expect(await new DatabaseProbe(url, clock).check()).toMatchObject({ healthy: false, error: 'unreachable' });
  });

  it('gives up on a silent server, and queries it once for all callers', async () => {
    const probe = new DatabaseProbe(await listen(), clock, 50);
    const [first, second] = await Promise.all([probe.check(), probe.check()]);
    expect(first).toMatchObject({ healthy: false, error: 'timeout' });
    expect(second).toBe(first);
    expect(sockets).toHaveLength(1);
    await close();
  });

  describe('with a database', () => {
    let database: TestDatabase;

    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database.drop());

    it('finds one read-only that takes no changes, and well again afterwards', async () => {
      const administrator = new Client(database.url);
      await administrator.connect();
      const set = (value: string) =>
        administrator.query(`alter database ${administrator.database} set default_transaction_read_only = ${value}`);
      // A session keeps what it began with: as after a failover, the connection is a new one.
      const check = async () => {
        const probe = new DatabaseProbe(database.url, clock);
        const health = await probe.check();
        probe.onApplicationShutdown();
        return health;
      };
      await set('on');
      expect(await check()).toMatchObject({ healthy: false, error: 'read-only' });
      await administrator.query('set transaction_read_only = off; set default_transaction_read_only = off');
      await set('off');
      expect(await check()).toMatchObject({ healthy: true });
      await administrator.end();
    });

    it('finds no tables where a changed search path leads elsewhere, as new connections of the pool do', async () => {
      const administrator = new Client(database.url);
      await administrator.connect();
      const alter = (change: string) => administrator.query(`alter database ${administrator.database} ${change}`);
      const time = new FakeClock();
      const probe = new DatabaseProbe(database.url, time);
      const checkLater = () => {
        time.advance(60_000);
        return probe.check();
      };
      expect(await probe.check()).toMatchObject({ healthy: true });
      await alter('set search_path = nowhere');
      expect(await checkLater()).toMatchObject({ healthy: false, error: 'no-tables' });
      await alter('reset search_path');
      expect(await checkLater()).toMatchObject({ healthy: true });
      await administrator.end();
      probe.onApplicationShutdown();
    });

    it('keeps an old connection that works where the server takes no further one', async () => {
      const elsewhere = new URL(database.url);
      elsewhere.pathname = '/postgres';
      const administrator = new Client(elsewhere.toString());
      await administrator.connect();
      const name = new URL(database.url).pathname.slice(1);
      const time = new FakeClock();
      const probe = new DatabaseProbe(database.url, time);
      expect(await probe.check()).toMatchObject({ healthy: true });
      await administrator.query(`alter database ${name} allow_connections false`);
      time.advance(60_000);
      expect(await probe.check()).toMatchObject({ healthy: true });
      await administrator.query(`alter database ${name} allow_connections true`);
      await administrator.end();
      probe.onApplicationShutdown();
    });

    it('keeps its connection, and closes it with the process', async () => {
      const watcher = new Client(database.url);
      await watcher.connect();
      const connections = async (): Promise<number[]> => {
        // The cluster is shared with other specs, the database is not.
        const text = `select pid from pg_stat_activity
          where application_name = 'waybill-health' and datname = current_database()`;
        return (await watcher.query<{ pid: number }>(text)).rows.map(({ pid }) => pid);
      };
      const probe = new DatabaseProbe(database.url, clock);
      expect(await probe.check()).toMatchObject({ healthy: true });
      const first = await connections();
      expect(first).toHaveLength(1);
      expect(await probe.check()).toMatchObject({ healthy: true });
      expect(await connections()).toEqual(first);
      probe.onApplicationShutdown();
      await waitFor(async () => (await connections()).length === 0, { what: 'the connection to be closed' });
      await watcher.end();
    });

    it('reports that it was refused, and not by which host', async () => {
      const missing = new URL(database.url);
      missing.pathname = '/waybill_test_missing';
      const answer = await new DatabaseProbe(missing.toString(), clock).check();
      expect(answer).toEqual({ healthy: false, latencyMs: expect.any(Number), error: 'refused' });
    });
  });
});
