import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RELEASE } from '../../src/common/release';
import { runWith } from '../integration/cli/cli-kit';
import { query } from '../integration/embedded/support';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { MASTER_KEY, ServiceProcess } from './kit/service-process';

let database: TestDatabase;
let env: Record<string, string>;
let service: ServiceProcess | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  const workFolder = mkdtempSync(join(tmpdir(), 'waybill-schema-'));
  env = { DATABASE_URL: database.url, WAYBILL_DATA_DIR: workFolder, MASTER_KEY, MIGRATE_ON_START: 'false' };
});
afterEach(() => service?.kill('SIGKILL'));
afterAll(async () => {
  await database.drop();
  rmSync(env.WAYBILL_DATA_DIR ?? '', { recursive: true });
});

const waitingLine = (process: ServiceProcess) => process.lines.find(({ msg }) => msg.startsWith('not ready: '));

/** Starts it, and waits until it says that it waits. */
async function launch(): Promise<ServiceProcess> {
  service = ServiceProcess.launch(env);
  const { lines } = service;
  await waitFor(() => lines.some(({ msg }) => /^not ready: |^ready$/.test(msg)), {
    what: 'the service to wait',
  });
  return service;
}

async function probe(port: unknown, path: string, init?: RequestInit) {
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, init);
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
}

const noTrace = (process: ServiceProcess) => expect(process.describe()).not.toMatch(/\bat .*\.js:|"stack"/);

describe('a service that does not migrate', () => {
  it('is alive and not ready on an empty schema, names the remedy, and is ready once that is done', async () => {
    await query(database.url, 'drop schema public cascade; create schema public');
    const waiting = await launch();
    const reason = 'the database is empty: run `waybill migrate`';
    expect(waitingLine(waiting)).toMatchObject({ level: 'warn', msg: `not ready: ${reason}` });
    const { port, metricsPort } = waitingLine(waiting) as unknown as Record<string, unknown>;
    for (const each of [port, metricsPort]) {
      expect(await probe(each, '/health')).toMatchObject({ status: 200, body: { status: 'ok' } });
      expect(await probe(each, '/health/startup')).toMatchObject({
        status: 503,
        body: { status: 'not_ready', reason, database: { healthy: true, latencyMs: expect.any(Number) } },
      });
      expect(await probe(each, '/health/detailed')).toMatchObject({ status: 503, body: { status: 'unhealthy' } });
    }
    expect(await probe(port, '/v1/emails', { method: 'POST', body: '{}' })).toMatchObject({
      ...{ status: 503, retryAfter: '5' },
      body: { error: { code: 'service_unavailable', message: 'The service is not ready yet' } },
    });
    noTrace(waiting);

    expect(await runWith(env, ['migrate'])).toMatchObject({ exitCode: 0 });
    await waitFor(() => waiting.line('ready'), { what: 'the service to be ready' });
    expect(waiting.line('the schema is up to date')).toBeDefined();
    expect(await probe(waiting.port, '/health/startup')).toMatchObject({ status: 200, body: { status: 'ready' } });
    await waiting.stop();
    expect(waiting.exitCode).toBe(0);
  });

  it('names the release that a newer schema needs, and ends in order while it waits', async () => {
    await query(database.url, `insert into schema_migrations ("timestamp", name) values (9999, 'FromTheFuture9999')`);
    const comment = (oldest: string) =>
      query(
        database.url,
        `comment on table schema_migrations is 'Made by release 99.1.0, for releases from ${oldest} on'`,
      );
    await comment('99.0.0');
    const waiting = await launch();
    expect(waitingLine(waiting)?.msg).toBe(
      `not ready: the schema was made by release 99.1.0, and this is ${RELEASE}: start release 99.0.0 or later`,
    );
    await waiting.stop();
    expect(waiting.exitCode).toBe(0);
    noTrace(waiting);

    await comment(RELEASE);
    const serving = await launch();
    expect(serving.line('ready')).toBeDefined();
    expect(serving.lines.find(({ level }) => level === 'warn')?.msg).toBe(
      `the schema was made by release 99.1.0, and this is ${RELEASE}, which still runs on it`,
    );
    await serving.stop();
  });
});
