import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DnsServer } from '../doubles/dns-server';
import { Receivers } from '../doubles/receivers';
import { runWith } from '../integration/cli/cli-kit';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient } from './kit/api-client';
import { MASTER_KEY, ServiceProcess } from './kit/service-process';
import { TenantFactory } from './kit/tenant';

const WORKERS = 4;
const LIMIT = 4;
const MAILS = 100;
const PROVIDER = '127.3.0.1';
const KEY = 'mx1.provider.test';

let database: TestDatabase;
let receivers: Receivers;
let dns: DnsServer;
const folders: string[] = [];
const processes: ServiceProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  receivers = await Receivers.start();
  // Replies that take a while, so that conversations overlap.
  receivers.scripts.set(PROVIDER, { drips: true });
  const domains = Array.from({ length: MAILS }, (_, n) => [`d${n}.test`, { MX: [[10, KEY]] }] as const);
  dns = await DnsServer.start({ ...Object.fromEntries(domains), [KEY]: { A: [PROVIDER] } });
});
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()));
  await dns.stop();
  await receivers.stop();
  await database.drop();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'waybill-shared-limit-'));
  folders.push(made);
  return made;
}

async function start(roles: string): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({
    ...{ DATABASE_URL: database.url, WAYBILL_DATA_DIR: folder(), WAYBILL_ROLES: roles, DATABASE_POOL_SIZE: '3' },
    ...{ DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.waybill.test', DNS_SERVERS: dns.endpoint, BLOCK_LISTS: '' },
    ...{ SMTP_PORT: String(receivers.port), ALLOW_PRIVATE_DESTINATIONS: 'true', DRAIN_SECONDS: '5' },
    ...{ PUBLIC_URL: 'https://mail.waybill.test', WARMUP_ENABLED: 'false' },
  });
  processes.push(service);
  return service;
}

describe('four worker processes and one provider', () => {
  it('keep its limit of connections within one, and send all of its mail', async () => {
    const tenants = await TenantFactory.open(database.url);
    const { liveKey } = await tenants.create();
    await tenants.close();
    const api = new ApiClient((await start('api')).port, liveKey);
    const environment = { DATABASE_URL: database.url, MASTER_KEY, WAYBILL_DATA_DIR: folder() };
    const limited = await runWith(environment, ['destinations', 'limit', KEY, '--max-connections', String(LIMIT)]);
    expect(limited.stderr).toBe('');
    const emails = Array.from({ length: MAILS }, (_, n) => ({ to: [`r@d${n}.test`], subject: 'Hi', text: 'Hello' }));
    expect((await api.post('/v1/emails/batch', emails)).status).toBe(202);
    await Promise.all(Array.from({ length: WORKERS }, () => start('worker')));
    await waitFor(() => receivers.mails.length >= MAILS, { what: 'all mail to arrive', timeoutMs: 120_000 });
    expect(receivers.peak.get(PROVIDER)).toBeLessThanOrEqual(LIMIT + 1);
    expect(receivers.peak.get(PROVIDER)).toBeGreaterThan(1);
    expect(new Set(receivers.mails.map(({ recipient }) => recipient)).size).toBe(MAILS);
    expect(receivers.mails).toHaveLength(MAILS);
  });
});
