import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { SmtpSink } from '../doubles/smtp-sink';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient, eventTypes } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';
import { sha256 } from './kit/verify-dkim';

let database: TestDatabase;
let tenants: TenantFactory;
let tenant: Tenant;
let sink: SmtpSink;
let workFolder: string;
let front: ServiceProcess;
let api: ApiClient;

beforeAll(async () => {
  database = await createTestDatabase();
  tenants = await TenantFactory.open(database.url);
  tenant = await tenants.create();
  sink = await SmtpSink.start({});
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-crash-'));
  front = await ServiceProcess.start({ ...common(), WAYBILL_ROLES: 'api' });
  api = new ApiClient(front.port, tenant.liveKey);
});

afterAll(async () => {
  await front.stop();
  await sink.stop();
  await tenants.close();
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

const common = () => ({
  DATABASE_URL: database.url,
  WAYBILL_DATA_DIR: workFolder,
  DELIVERY_MODE: 'relay',
  RELAY_URL: `smtp://127.0.0.1:${sink.port}`,
  RATE_LIMIT_ENABLED: 'false',
  WARMUP_ENABLED: 'false',
});
const worker = () => ServiceProcess.start({ ...common(), WAYBILL_ROLES: 'worker' });

/** As if its lease had ended since, under the eyes of others. */
async function kill(service: ServiceProcess): Promise<void> {
  await service.kill('SIGKILL');
  const client = new Client(database.url);
  await client.connect();
  await client.query(
    `update worker_sessions set lease_until = now(), renewed_at = now() + interval '1 minute',
       watched_since = now() - interval '1 hour'`,
  );
  await client.end();
}

const copiesOf = (id: string) => sink.messages.filter((message) => message.content.includes(id));

// What becomes of many mails while workers are killed is in chaos.spec.ts.
describe('a killed worker', () => {
  /** The one that comes after; the next test begins with it. */
  let successor: ServiceProcess | undefined;
  afterAll(() => successor?.kill('SIGKILL'));

  it('during DATA leaves a mail that is delivered exactly once', async () => {
    const recipient = 'victim@example.com';
    sink.behaviours.set(recipient, 'hang-in-data');
    const id = await api.send({ to: [recipient] });
    const first = await worker();
    await waitFor(() => sink.commands.some((line) => line.includes(recipient)), { what: 'the conversation' });
    await kill(first);
    sink.behaviours.set(recipient, 'ok');
    successor = await worker();
    const email = await api.waitForStatus(id, 'sent');
    expect(copiesOf(id)).toHaveLength(1);
    expect(eventTypes(email)).toEqual(['queued', 'sending', 'unknown', 'sent']);
    expect(email.recipients[0].attempts).toBe(1);
  });

  it('after the final dot may repeat a mail, and its history says so', async () => {
    const recipient = 'maybe@example.com';
    sink.behaviours.set(recipient, 'hang-after-dot');
    const id = await api.send({ to: [recipient] });
    const first = successor ?? (await worker());
    await waitFor(() => sink.unanswered.some((message) => message.content.includes(id)), { what: 'the final dot' });
    await kill(first);
    sink.behaviours.set(recipient, 'ok');
    successor = await worker();
    const email = await api.waitForStatus(id, 'sent');
    const copies = [...sink.unanswered, ...sink.messages].filter((message) => message.content.includes(id));
    expect(copies).toHaveLength(2);
    expect(new Set(copies.map((message) => sha256(message.content))).size).toBe(1);
    const [explanation] = email.events.filter((event: any) => event.eventType === 'unknown');
    expect(explanation).toMatchObject({ source: 'system', eventData: { reason: 'outcome_unknown', recipient } });
  });

  it('between the 250 and the commit repeats nothing: the next worker settles from the journal', async () => {
    const recipient = 'noted@example.com';
    sink.behaviours.set(recipient, '250-held');
    const id = await api.send({ to: [recipient] });
    const first = successor ?? (await worker());
    await waitFor(() => copiesOf(id).length === 1, { what: 'the mail' });
    const admin = new Client(process.env.WAYBILL_TEST_CLUSTER_URL);
    await admin.connect();
    const name = new URL(database.url).pathname.slice(1);
    await admin.query(`alter database ${name} allow_connections false`);
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    sink.release();
    await waitFor(() => first.lines.some((line) => String(line.msg).includes('could not be committed')), {
      what: 'the failure',
    });
    await first.kill('SIGKILL');
    await admin.query(`alter database ${name} allow_connections true`);
    await admin.end();
    const second = await worker();
    const email = await api.waitForStatus(id, 'sent');
    await second.stop();
    expect(copiesOf(id)).toHaveLength(1);
    expect(eventTypes(email)).toEqual(['queued', 'sending', 'sent']);
  });
});
