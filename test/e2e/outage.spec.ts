import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { SmtpSink } from '../doubles/smtp-sink';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';

let database: TestDatabase;
let tenant: Tenant;
let sink: SmtpSink;
let service: ServiceProcess;
let api: ApiClient;
let admin: Client;
let workFolder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const tenants = await TenantFactory.open(database.url);
  tenant = await tenants.create();
  await tenants.close();
  sink = await SmtpSink.start({});
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-outage-'));
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    WAYBILL_DATA_DIR: workFolder,
    DELIVERY_MODE: 'relay',
    RELAY_URL: `smtp://127.0.0.1:${sink.port}`,
    WARMUP_ENABLED: 'false',
  });
  api = new ApiClient(service.port, tenant.liveKey);
  admin = new Client(process.env.WAYBILL_TEST_CLUSTER_URL);
  await admin.connect();
});

afterAll(async () => {
  await admin.end();
  await service.stop();
  await sink.stop();
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

const name = () => new URL(database.url).pathname.slice(1);
const cutOff = async () => {
  await admin.query(`alter database ${name()} allow_connections false`);
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name()]);
};
const letIn = () => admin.query(`alter database ${name()} allow_connections true`);

describe('while the database is away', () => {
  it('returns 503 with Retry-After, stays alive, and recovers by itself', async () => {
    const held = 'held@example.com';
    sink.behaviours.set(held, '250-held');
    const underWay = await api.send({ to: [held] });
    await waitFor(() => sink.messageCount === 1, { what: 'the mail under way' });
    await cutOff();
    const refused = await waitFor(
      async () => {
        const answer = await api.post('/v1/emails', { to: ['a@example.com'], subject: 's', text: 't' });
        return answer.status === 503 ? answer : undefined;
      },
      { what: 'a 503' },
    );
    expect(refused.body.error.code).toBe('service_unavailable');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await api.as(undefined).get('/health')).toMatchObject({ status: 200 });
    expect(await api.as(undefined).get('/health/startup')).toMatchObject({
      status: 503,
      body: { status: 'not_ready' },
    });
    sink.release();
    const isHeldBack = () => service.lines.some(({ msg }) => msg.includes('could not be committed'));
    await waitFor(isHeldBack, { what: 'a result that waits' });

    await letIn();
    await api.waitForStatus(underWay, 'sent');
    expect(await api.waitForStatus(await api.send({ to: ['after@example.com'] }), 'sent')).toBeDefined();
    expect(await api.as(undefined).get('/health/startup')).toMatchObject({ status: 200, body: { status: 'ready' } });
    // The result that was held back is committed, not sent a second time.
    expect(sink.messages.filter((message) => message.recipients.includes(held))).toHaveLength(1);
    const unexpected = service.lines.filter((line) => line.level === 'fatal');
    expect(unexpected).toEqual([]);
  });
});
