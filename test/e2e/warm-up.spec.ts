import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SmtpSink } from '../doubles/smtp-sink';
import { runWith } from '../integration/cli/cli-kit';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient } from './kit/api-client';
import { MASTER_KEY, ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';

let database: TestDatabase;
let tenant: Tenant;
let sink: SmtpSink;
let service: ServiceProcess;
let api: ApiClient;
let workFolder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const tenants = await TenantFactory.open(database.url);
  tenant = await tenants.create();
  await tenants.close();
  sink = await SmtpSink.start({});
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-warm-up-'));
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    WAYBILL_DATA_DIR: workFolder,
    DELIVERY_MODE: 'relay',
    RELAY_URL: `smtp://127.0.0.1:${sink.port}`,
  });
  api = new ApiClient(service.port, tenant.liveKey);
});
afterAll(async () => {
  await service.stop();
  await sink.stop();
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

const email = (count: number) => ({
  to: Array.from({ length: count }, (_, index) => `r${index}@example.com`),
  subject: 'Hello',
  text: 'Hello there',
});

/** As an operator does it, while the service runs. */
async function operate(command: string): Promise<void> {
  const environment = { DATABASE_URL: database.url, MASTER_KEY, WAYBILL_DATA_DIR: workFolder };
  const { exitCode, stderr } = await runWith(environment, ['domain', command, tenant.domainId]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
}

it('limits a new domain by its day, returns when to try again, and lets the operator lift the limit', async () => {
  expect(await api.post('/v1/emails', email(19))).toMatchObject({ status: 202 });
  const over = await api.post('/v1/emails', email(2));
  expect(over).toMatchObject({ status: 429, body: { error: { code: 'sending_limit_exceeded' } } });
  expect(over.body.error.details).toEqual({
    ...{ limit: 20, used: 19, requested: 2, reason: 'warming' },
    resetsAt: expect.stringMatching(/T00:00:00\.000Z$/),
  });
  const retryAfter = Number(over.headers.get('retry-after'));
  expect(retryAfter).toBeGreaterThan(0);
  expect(retryAfter).toBeLessThanOrEqual(86_400);

  const batch = await api.post('/v1/emails/batch', [email(1), email(1)]);
  expect(batch).toMatchObject({ status: 202, body: { data: { summary: { total: 2, successful: 1, failed: 1 } } } });
  expect(batch.body.data.data[1]).toMatchObject({
    ...{ index: 1, status: 'error', code: 'sending_limit_exceeded' },
    details: { limit: 20, used: 20, requested: 1 },
  });
  expect((await api.get(`/v1/domains/${tenant.domainId}`)).body.data).toMatchObject({
    ...{ warming_status: 'warming', warming_current_limit: 20 },
  });

  await operate('mark-warmed');
  await waitFor(async () => (await api.post('/v1/emails', email(50))).status === 202, {
    what: 'the limit to be lifted',
  });

  await operate('restart-warming');
  await waitFor(async () => (await api.post('/v1/emails', email(1))).status === 429, { what: 'the limit to be back' });
});
