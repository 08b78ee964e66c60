import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Metrics } from '../../../src/common/metrics/metrics';
import { ADMINISTRATION, createTestDatabase, type TestDatabase, withDatabase } from '../../setup/test-database';
import { waitFor } from '../../setup/wait-for';
import { query } from '../embedded/support';
import { type HealthApp, startHealthApp } from './health-app';

const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const UP = { healthy: true, latencyMs: expect.any(Number) };

describe('health', () => {
  let database: TestDatabase;
  let health: HealthApp;

  beforeAll(async () => {
    database = await createTestDatabase();
    health = await startHealthApp(database.url);
  });

  afterAll(async () => {
    await health.app.close();
    await database.drop();
  });

  const administer = async (work: (client: Client, name: string) => Promise<unknown>) => {
    const client = new Client(withDatabase(database.url, ADMINISTRATION));
    await client.connect();
    await work(client, new URL(database.url).pathname.slice(1));
    await client.end();
  };

  it('is alive, ready and well, without a key or an envelope', async () => {
    const alive = await health.get('/health');
    expect([alive.status, alive.body]).toEqual([200, { status: 'ok', timestamp: TIMESTAMP, service: 'waybill' }]);
    expect(alive.headers.get('cache-control')).toBe('no-store');
    const ready = await health.get('/health/startup');
    expect([ready.status, ready.body]).toEqual([200, { status: 'ready', timestamp: TIMESTAMP, database: UP }]);
    expect(Number.isInteger(ready.body.database.latencyMs)).toBe(true);
  });

  it('reports an installation without a worker as degraded', async () => {
    const { status, body } = await health.get('/health/detailed');
    expect([status, body]).toEqual([
      200,
      {
        status: 'degraded',
        timestamp: TIMESTAMP,
        uptime: expect.any(Number),
        memory: { rss: expect.any(Number), heapUsed: expect.any(Number), heapTotal: expect.any(Number) },
        services: {
          database: UP,
          queue: { healthy: true, depth: 0, oldestSeconds: 0, ready: 0, waiting: 0, claimed: 0 },
          clock: { healthy: true, offsetSeconds: expect.any(Number) },
          disk: { healthy: true },
          rowLevelSecurity: 'on',
          workers: 0,
        },
        environment: { nodeVersion: process.version, platform: process.platform, arch: process.arch },
      },
    ]);
  });

  it('reports a process that lacks the master key of the others', async () => {
    await query(database.url, 'insert into master_key_record values (1, 1, now())');
    const masterKey = async () => (await health.get('/health/detailed')).body.services.masterKey;
    await waitFor(masterKey, { what: 'the report' });
    expect(await masterKey()).toEqual({ healthy: false });
    await query(database.url, 'delete from master_key_record');
    await waitFor(async () => (await masterKey()) === undefined, { what: 'the end of it' });
  });

  it('shows the queue to Prometheus', async () => {
    const text = await health.app.get(Metrics).registry.metrics();
    expect(text).toContain('waybill_queue_deliveries{state="ready"} 0');
    expect(text).toContain('waybill_workers 0');
    expect(text).toContain('waybill_queue_measure_failures_total 0');
  });

  it('does not take a busy pool for a sick database', async () => {
    const busy = await startHealthApp(database.url, 1);
    const runner = busy.app.get(DataSource).createQueryRunner();
    await runner.connect();
    expect((await busy.get('/health/startup')).status).toBe(200);
    const { status, body } = await busy.get('/health/detailed');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'degraded',
      services: { database: UP, queue: { healthy: false, error: 'timeout' } },
    });
    await runner.release();
    await busy.app.close();
  });

  it('says when the database is away, and when it is back', async () => {
    await administer(async (client, name) => {
      await client.query(`alter database ${name} allow_connections false`);
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    });
    const startup = await health.get('/health/startup');
    expect(startup).toMatchObject({ status: 503, body: { status: 'not_ready', timestamp: TIMESTAMP } });
    expect(startup.body.database).toEqual({ healthy: false, latencyMs: expect.any(Number), error: 'refused' });
    const detailed = await health.get('/health/detailed');
    expect(detailed).toMatchObject({ status: 503, body: { status: 'unhealthy', uptime: expect.any(Number) } });
    expect(detailed.body.services.database).toMatchObject({ healthy: false, error: 'refused' });
    expect((await health.get('/health')).status).toBe(200);

    await administer((client, name) => client.query(`alter database ${name} allow_connections true`));
    expect(await health.get('/health/startup')).toMatchObject({ status: 200, body: { status: 'ready' } });
    await waitFor(async () => (await health.get('/health/detailed')).body.services.queue.healthy, {
      what: 'the queue to be measured again',
    });
  });

  it('is ready again at once when only its own connection was lost', async () => {
    await health.get('/health/startup');
    await administer((client, name) =>
      client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'waybill-health'",
        [name],
      ),
    );
    expect((await health.get('/health/startup')).status).toBe(200);
  });

  it('is not ready while it stops, but still alive', async () => {
    const stopping = await startHealthApp(database.url);
    stopping.draining.begin();
    expect(await stopping.get('/health/startup')).toMatchObject({
      status: 503,
      body: { status: 'not_ready', timestamp: TIMESTAMP, database: UP },
    });
    expect((await stopping.get('/health')).status).toBe(200);
    expect(await stopping.get('/health/detailed')).toMatchObject({ status: 200, body: { status: 'degraded' } });
    await stopping.app.close();
  });
});
