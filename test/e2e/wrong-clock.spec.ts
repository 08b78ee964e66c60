import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DAY, HOUR, SECOND } from '../../src/common/clock';
import { timeOfId } from '../../src/common/ids';
import { SmtpSink } from '../doubles/smtp-sink';
import { WebhookReceiver } from '../doubles/webhook-receiver';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient, eventTypes } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';
import { verifyDkim } from './kit/verify-dkim';

const PRELOAD = join(__dirname, '../doubles/shifted-clock.cjs');
const AHEAD = 10 * DAY;
const BEHIND = -10 * DAY;

let database: TestDatabase;
let tenant: Tenant;
let sink: SmtpSink;
let receiver: WebhookReceiver;
let workFolder: string;
let api: ServiceProcess;
let client: ApiClient;
const running: ServiceProcess[] = [];

/** A process whose clock is off by so many milliseconds. */
async function start(roles: string, shiftMs: number): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({
    ...{ DATABASE_URL: database.url, WAYBILL_DATA_DIR: workFolder, WAYBILL_ROLES: roles },
    ...{ DELIVERY_MODE: 'relay', RELAY_URL: `smtp://127.0.0.1:${sink.port}`, WARMUP_ENABLED: 'false' },
    ...{ WEBHOOK_ALLOW_PRIVATE: 'true' },
    ...{ NODE_OPTIONS: `--require ${PRELOAD}`, SHIFTED_CLOCK_MS: String(shiftMs) },
  });
  running.push(service);
  return service;
}

beforeAll(async () => {
  database = await createTestDatabase();
  const tenants = await TenantFactory.open(database.url);
  tenant = await tenants.create();
  await tenants.close();
  [sink, receiver] = [await SmtpSink.start(), await WebhookReceiver.start()];
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-clock-'));
  api = await start('api', AHEAD);
  client = new ApiClient(api.port, tenant.liveKey);
});

afterAll(async () => {
  await Promise.all(running.map((service) => service.stop()));
  await receiver.stop();
  await sink.stop();
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

const isNow = (time: number) => Math.abs(time - Date.now()) < HOUR;
const metricsOf = async ({ metricsPort }: ServiceProcess) =>
  (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
const clockOf = async ({ metricsPort }: ServiceProcess) =>
  ((await (await fetch(`http://127.0.0.1:${metricsPort}/health/detailed`)).json()) as any).services.clock;

async function expectItSaysSo(service: ServiceProcess, shiftMs: number): Promise<void> {
  const direction = shiftMs > 0 ? 'ahead of' : 'behind';
  const said = service.lines.find(
    ({ level, msg }) => level === 'error' && msg.includes(`s ${direction} the database's`),
  );
  expect(said).toBeDefined();
  const offset = /^waybill_clock_offset_seconds (.*)$/m.exec(await metricsOf(service))?.[1];
  expect(Number(offset) - shiftMs / SECOND).toBeLessThan(60);
  expect(await clockOf(service)).toMatchObject({ healthy: false });
}

describe('processes whose clocks are ten days off', () => {
  it('say so, date and sign nothing by their own clock, and leave mail to a worker whose clock is right', async () => {
    const hook = { url: receiver.url(), events: ['queued', 'sent'] };
    expect(await client.post('/v1/webhooks', hook)).toMatchObject({ status: 201 });
    const id = await client.send({ to: ['you@example.com'] });
    expect(isNow(timeOfId(id).getTime())).toBe(true);
    for (const shiftMs of [AHEAD, BEHIND]) {
      const worker = await start('worker', shiftMs);
      await expectItSaysSo(worker, shiftMs);
      const isRefused = async () => /result="clock_wrong"} [1-9]/.test(await metricsOf(worker));
      await waitFor(isRefused, { what: 'a job that is not run' });
    }
    await expectItSaysSo(api, AHEAD);
    expect(eventTypes(await client.email(id))).toEqual(['queued']);
    expect([sink.messageCount, receiver.received.length]).toEqual([0, 0]);

    // Wrong, by less than what matters: it works, by the database's clock.
    await start('worker', 3 * SECOND);
    const [message] = await sink.waitForMessages(1);
    const head = String(message?.content).split('\r\n\r\n')[0]!.replaceAll('\r\n ', '');
    expect(isNow(Date.parse(/^Date: (.*)$/m.exec(head)?.[1] ?? ''))).toBe(true);
    expect(/^Message-ID: <([0-9a-f-]{36})@/m.exec(head)?.[1]).toBe(id);
    expect(isNow(Number(/[; ]t=(\d+);/.exec(head)?.[1]) * SECOND)).toBe(true);
    expect(await verifyDkim(message!.content, database.url)).toMatchObject([{ result: 'pass' }]);
    const email = await client.waitForStatus(id, 'sent');
    expect(email.events.filter(({ timestamp }: any) => !isNow(Date.parse(timestamp)))).toEqual([]);
    await waitFor(() => receiver.received.length === 2, { what: 'the webhooks' });
    for (const { headers, body } of receiver.received) {
      expect(isNow(Number(headers['webhook-timestamp']) * SECOND)).toBe(true);
      expect(isNow(Date.parse(JSON.parse(body).timestamp))).toBe(true);
    }
  });

  it('go by the right time for what ends: keys, and sign-in links', async () => {
    const expiresAt = (ms: number) => new Date(Date.now() + ms).toISOString();
    const key = (ms: number) => ({
      ...{ name: 'short', mode: 'live', scopes: ['email:read'], expiresAt: expiresAt(ms) },
    });
    const { status, body } = await client.post('/v1/api-keys', key(DAY));
    expect(status).toBe(201);
    // Its own clock says that the key has ended nine days ago.
    expect(await client.as(body.data.key).get('/v1/emails')).toMatchObject({ status: 200 });
    expect(await client.post('/v1/api-keys', key(-DAY))).toMatchObject({ status: 400 });
    const tenants = await TenantFactory.open(database.url);
    const path = await tenants.signInLink(tenant.organizationId);
    await tenants.close();
    const link = path.split('#link=')[1];
    expect(await client.as(undefined).post('/console/session', { link })).toMatchObject({ status: 201 });
  });
});
