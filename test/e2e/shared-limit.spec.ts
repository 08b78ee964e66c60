import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
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
let db: Client;
let receivers: Receivers;
let dns: DnsServer;
const folders: string[] = [];
const processes: ServiceProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  db = new Client(database.url);
  await db.connect();
  receivers = await Receivers.start();
  const domains = Array.from({ length: MAILS }, (_, n) => [`d${n}.test`, { MX: [[10, KEY]] }] as const);
  dns = await DnsServer.start({ ...Object.fromEntries(domains), [KEY]: { A: [PROVIDER] } });
});
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()));
  await dns.stop();
  await receivers.stop();
  await db.end();
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
    ...{ PUBLIC_URL: 'https://mail.waybill.test', WARMUP_ENABLED: 'false', LEASE_SECONDS: '60' },
  });
  processes.push(service);
  return service;
}

/** How many sessions of workers the database says it of. */
async function countSessions(condition: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`select count(*)::int as count from ${condition}`);
  return rows[0]?.count ?? 0;
}

/** All know of all, and so have their parts. */
const SETTLED = `worker_sessions where lease_until > now() and cardinality(peers) = ${WORKERS}`;
const AT_WORK = `destination_reports where key = '${KEY}' and active > 0`;

/** The receiver takes no mail until it is released; then its replies take a while, so that conversations overlap. */
function hold(): { release: () => void } {
  let open: (value: unknown) => void = () => undefined;
  receivers.scripts.set(PROVIDER, { holds: new Promise((resolve) => (open = resolve)) });
  const release = (): void => {
    receivers.scripts.set(PROVIDER, { drips: true });
    open(undefined);
  };
  return { release };
}

describe('four worker processes and one provider', () => {
  it('keep its limit of connections within one while they join, and send all of its mail', async () => {
    const tenants = await TenantFactory.open(database.url);
    const { liveKey } = await tenants.create();
    await tenants.close();
    const environment = { DATABASE_URL: database.url, MASTER_KEY, WAYBILL_DATA_DIR: folder() };
    const limited = await runWith(environment, ['destinations', 'limit', KEY, '--max-connections', String(LIMIT)]);
    expect(limited).toMatchObject({ exitCode: 0 });
    const api = new ApiClient((await start('api,worker')).port, liveKey);
    const emails = Array.from({ length: MAILS }, (_, n) => ({ to: [`r@d${n}.test`], subject: 'Hi', text: 'Hello' }));

    const send = async (from: number, to: number) => {
      expect((await api.post('/v1/emails/batch', emails.slice(from, to))).status).toBe(202);
    };
    const arrived = (count: number) =>
      waitFor(() => receivers.mails.length >= count, { what: `${count} mails to arrive` });

    // The first worker alone comes to use all of the limit, and its conversations last until all the others are there.
    await send(0, 20);
    await arrived(20);
    const first = hold();
    await send(20, 60);
    await waitFor(() => receivers.openAt(PROVIDER) === LIMIT, { what: 'conversations' });
    await Promise.all(Array.from({ length: WORKERS - 1 }, () => start('worker')));
    await waitFor(async () => (await countSessions(SETTLED)) === WORKERS, { what: 'all workers' });
    expect(receivers.peak.get(PROVIDER)).toBeLessThanOrEqual(LIMIT + 1);
    first.release();
    await arrived(60);

    // All of them together: each has its part.
    const second = hold();
    await send(60, MAILS);
    await waitFor(async () => (await countSessions(AT_WORK)) === WORKERS, { what: 'work for all' });
    second.release();
    await arrived(MAILS);
    expect(receivers.peak.get(PROVIDER)).toBeLessThanOrEqual(LIMIT + 1);
    expect(new Set(receivers.mails.map(({ recipient }) => recipient)).size).toBe(MAILS);
    expect(receivers.mails).toHaveLength(MAILS);
  });
});
