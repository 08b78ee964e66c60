import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DnsServer } from '../doubles/dns-server';
import { SmtpSink } from '../doubles/smtp-sink';
import { freePort } from '../setup/free-port';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient } from './kit/api-client';
import { MASTER_KEY, ServiceProcess } from './kit/service-process';
import { TenantFactory } from './kit/tenant';

const OTHER_KEY = randomBytes(32).toString('base64');
/** Steps 2 and 3 of docs/operations/data.md: at first the new key is only known, then it is used. */
const KNOWN = { MASTER_KEY, MASTER_KEY_PREVIOUS: OTHER_KEY };
const USED = { MASTER_KEY: OTHER_KEY, MASTER_KEY_PREVIOUS: MASTER_KEY };

/** The sink refuses it as a mailbox that does not exist. */
const GONE = 'rcpt-550-5.1.1@customer.example';

let database: TestDatabase;
let tenants: TenantFactory;
let sink: SmtpSink;
let dns: DnsServer;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  tenants = await TenantFactory.open(database.url);
  sink = await SmtpSink.start();
  dns = await DnsServer.start({
    'customer.example': { MX: [[0, 'mx.customer.example']] },
    'mx.customer.example': { A: ['127.0.0.1'] },
  });
  folder = mkdtempSync(join(tmpdir(), 'waybill-master-key-'));
});
afterAll(async () => {
  await sink.stop();
  await dns.stop();
  await tenants.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** The path of the unsubscribe link in the mail that the sink has received. */
async function linkIn(id: string): Promise<string> {
  const { content } = await waitFor(() => sink.messages.find((message) => message.content.includes(id)), {
    what: 'the mail',
  });
  // After the host: a signature in base64 may contain `/u/`, too.
  return /http:\/\/[\w.:]+(\/u\/[\w-]+)/.exec(content.toString().replaceAll('\r\n ', ''))![1]!;
}

/** Starts an api and a worker with the given keys, and ends them after `use`, which gets the api's. */
async function withProcesses(
  { ofApi, ofWorker }: Record<'ofApi' | 'ofWorker', Record<string, string>>,
  use: (api: ApiClient, domain: string, process: ServiceProcess) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const common = {
    ...{ DATABASE_URL: database.url, WAYBILL_DATA_DIR: folder, PUBLIC_URL: `http://127.0.0.1:${port}` },
    ...{ DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.sender.example', SMTP_PORT: String(sink.port) },
    ...{ DNS_SERVERS: dns.endpoint, ALLOW_PRIVATE_DESTINATIONS: 'true', WARMUP_ENABLED: 'false' },
  };
  const { domain, liveKey } = await tenants.create(`sender${port}.example`);
  const [process, worker] = await Promise.all([
    ServiceProcess.start({ ...common, ...ofApi, WAYBILL_ROLES: 'api', PORT: String(port) }),
    ServiceProcess.start({ ...common, ...ofWorker, WAYBILL_ROLES: 'worker' }),
  ]);
  try {
    await use(new ApiClient(port, liveKey), domain, process);
  } finally {
    await Promise.all([process.stop(), worker.stop()]);
  }
}

const mailOf = (domain: string, to: string) => ({
  ...{ from: `a@${domain}`, to: [to], subject: 'x', text: 'x', category: 'bulk' },
});

/** The block of an erased address is encrypted by the worker, and read by the api at each send of the organization. */
async function eraseBounced(api: ApiClient, domain: string): Promise<void> {
  await api.waitForStatus(await api.send(mailOf(domain, GONE)), 'bounced');
  const erasure = { email: GONE, confirmDelete: true };
  const { requestId } = (await api.post('/v1/gdpr/delete-request', erasure)).body.data;
  const path = `/v1/gdpr/delete-request/${requestId}`;
  // Under way it is shown with the blocks that are kept, which an api without the key cannot read: 503.
  await waitFor(async () => (await api.get(path)).body.data?.status === 'completed', { what: 'the erasure' });
}

describe('while the master key is being changed', () => {
  it.each([
    ['the worker', KNOWN, USED],
    ['the api', USED, KNOWN],
  ])('%s may be the first that uses the new one', async (_first, ofApi, ofWorker) => {
    await withProcesses({ ofApi, ofWorker }, async (api, domain, { port }) => {
      // Signed by the worker, read by the api.
      const link = await linkIn(await api.send(mailOf(domain, 'ada@customer.example')));
      const answer = await fetch(`http://127.0.0.1:${port}${link}`, { method: 'POST' });
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Unsubscribed')]);
      await eraseBounced(api, domain);
      expect((await api.post('/v1/emails', mailOf(domain, GONE))).body.error.code).toBe('recipient_suppressed');
      await linkIn(await api.send(mailOf(domain, 'bob@customer.example')));
    });
  });

  it('a process without the new one refuses what it cannot check, and its log names the variable', async () => {
    await withProcesses({ ofApi: { MASTER_KEY }, ofWorker: USED }, async (api, domain, process) => {
      await eraseBounced(api, domain);
      const { status, headers, body } = await api.post('/v1/emails', mailOf(domain, 'bob@customer.example'));
      expect([status, body.error.code]).toEqual([503, 'service_unavailable']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      await waitFor(() => JSON.stringify(process.lines).includes('MASTER_KEY_PREVIOUS of this process'), {
        what: 'the name of the variable in the log',
      });
    });
  });
});
