import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, constants, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { Client } from 'pg';
import { SmtpSink } from '../doubles/smtp-sink';
import { TcpProxy } from '../doubles/tcp-proxy';
import { freePort } from '../setup/free-port';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { WAIT_LIMIT_MS, waitFor } from '../setup/wait-for';
import { ApiClient } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'waybill-stop-'));
  // The cluster of a service that root starts lies within.
  chmodSync(folder, 0o711);
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const env = () => ({
  DATABASE_URL: database.url,
  WAYBILL_DATA_DIR: folder,
  RATE_LIMIT_ENABLED: 'false',
  WARMUP_ENABLED: 'false',
});

/** Sends SIGTERM to the process alone, as a container does, and waits until it has ended by itself. */
async function terminate(service: ServiceProcess, timeoutMs = WAIT_LIMIT_MS): Promise<void> {
  service.child.kill('SIGTERM');
  try {
    await waitFor(() => service.exitCode !== null, { what: 'the end of the process', timeoutMs });
  } finally {
    await service.kill('SIGKILL');
  }
}

describe('a stop', () => {
  let tenants: TenantFactory;
  let tenant: Tenant;
  let sink: SmtpSink;
  /** Takes the mail of all tests; the last one ends it. */
  let front: ServiceProcess;
  let api: ApiClient;

  beforeAll(async () => {
    tenants = await TenantFactory.open(database.url);
    tenant = await tenants.create();
    front = await ServiceProcess.start({ ...env(), WAYBILL_ROLES: 'api', SHUTDOWN_DELAY_SECONDS: '5' });
    api = new ApiClient(front.port, tenant.liveKey);
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    // Those of a test that failed.
    for (const service of started.splice(0)) await service.kill('SIGKILL');
    await sink.stop();
  });
  afterAll(async () => {
    await front.kill('SIGKILL');
    await tenants.close();
  });

  const relay = () => ({ ...env(), DELIVERY_MODE: 'relay', RELAY_URL: `smtp://127.0.0.1:${sink.port}` });
  const started: ServiceProcess[] = [];
  async function startWorker(more: Record<string, string> = {}): Promise<ServiceProcess> {
    const service = await ServiceProcess.start({ ...relay(), WAYBILL_ROLES: 'worker', DRAIN_SECONDS: '2', ...more });
    started.push(service);
    return service;
  }
  const received = (recipient: string) => sink.messages.filter(({ recipients }) => recipients.includes(recipient));
  const openClaims = async () => {
    const client = new Client(database.url);
    await client.connect();
    const { rows } = await client.query(`select distinct state, crashes, attempt from deliveries order by state`);
    await client.end();
    return rows;
  };

  it('ends by itself with servers that never respond, and repeats nothing that one has accepted', async () => {
    const tarpits = Array.from({ length: 30 }, (_, n) => `tarpit${n}@example.com`);
    for (const tarpit of tarpits) sink.behaviours.set(tarpit, 'hang-at-rcpt');
    sink.behaviours.set('late@example.com', '250-held');
    const late = await api.send({ to: ['late@example.com'] });
    const ids = await Promise.all(tarpits.map((to) => api.send({ to: [to] })));
    const stuck = await startWorker({ DELIVERY_CONCURRENCY: '10' });
    await sink.waitFor(() => sink.openConnections >= 8, 'the conversations');
    await waitFor(() => received('late@example.com').length > 0, { what: 'the mail that is taken late' });
    const ended = terminate(stuck);
    await waitFor(() => stuck.line('stopping'), { what: 'the stop to begin' });
    sink.release();
    await ended;
    expect(stuck.exitCode).toBe(0);
    expect(stuck.lines.filter(({ level }) => ['error', 'fatal'].includes(level))).toEqual([]);
    // Given back, free of charge.
    expect(await openClaims()).toEqual([{ state: 'ready', crashes: 0, attempt: 0 }]);
    sink.behaviours.clear();
    const next = await startWorker();
    for (const id of [late, ...ids]) await api.waitForStatus(id, 'sent');
    for (const recipient of ['late@example.com', ...tarpits]) expect(received(recipient)).toHaveLength(1);
    await next.stop();
    expect(next.exitCode).toBe(0);
  });

  it('ends without its database, and the journal has what was taken', async () => {
    sink.behaviours.set('noted@example.com', '250-held');
    const id = await api.send({ to: ['noted@example.com'] });
    const { proxy, url } = await TcpProxy.before(database.url);
    const cut = await startWorker({ DATABASE_URL: url });
    await sink.waitForMessages(1);
    proxy.cut();
    sink.release();
    await terminate(cut);
    expect(cut.exitCode).toBe(0);
    const next = await startWorker();
    await api.waitForStatus(id, 'sent');
    await next.stop();
    await proxy.stop();
    expect(received('noted@example.com')).toHaveLength(1);
  });

  it('is announced for the configured time, and serves meanwhile', async () => {
    expect((await api.get('/health/startup')).status).toBe(200);
    front.child.kill('SIGTERM');
    await waitFor(async () => (await api.get('/health/startup')).status === 503, { what: 'readiness to end' });
    const alive = await api.get('/health');
    expect([alive.status, alive.headers.get('connection')]).toEqual([200, 'close']);
    await api.send();
    // Under way when the port closes.
    const email = JSON.stringify({ from: `a@${tenant.domain}`, to: ['b@example.com'], subject: 's', text: 't' });
    const body = new PassThrough();
    const headers = { authorization: `Bearer ${tenant.liveKey}`, 'content-type': 'application/json' };
    const options = { method: 'POST', body: Readable.toWeb(body), duplex: 'half', headers };
    const response = fetch(`http://127.0.0.1:${front.port}/v1/emails`, options as RequestInit);
    body.write(email.slice(0, 5));
    const refusal = () => api.get('/health').catch(({ cause }: Error) => (cause as NodeJS.ErrnoException).code);
    await waitFor(async () => (await refusal()) === 'ECONNREFUSED', { what: 'the port to close' });
    expect(front.exitCode).toBeNull();
    body.end(email.slice(5));
    expect((await response).status).toBe(202);
    await waitFor(() => front.exitCode !== null, { what: 'the end of the process' });
    expect(front.exitCode).toBe(0);
  });
});

it('counts every line of the log once its reader is gone, and stops as ever', async () => {
  const service = await ServiceProcess.start({ ...env(), WAYBILL_ROLES: 'api' });
  const { port, metricsPort } = service;
  const lost = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^waybill_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
  };
  service.child.stdout!.destroy();
  const requestUntilMore = async (before: number) => {
    await fetch(`http://127.0.0.1:${port}/v1/emails`);
    return (await lost()) > before;
  };
  for (const before of [0, 1, 2]) await waitFor(() => requestUntilMore(before), { what: `lost line ${before + 1}` });
  await terminate(service);
  expect(service.exitCode).toBe(0);
});

describe('with a log that nobody reads', () => {
  let log: number;
  let nobody: number;

  /** A pipe without any room. */
  beforeAll(() => {
    const pipe = join(folder, 'log');
    execFileSync('mkfifo', [pipe]);
    nobody = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    log = openSync(pipe, 'w');
    for (const bytes of [4_096, 1]) {
      expect(() => {
        for (;;) writeSync(nobody, Buffer.alloc(bytes));
      }).toThrow('EAGAIN');
    }
  });
  afterAll(() => {
    for (const end of [log, nobody]) closeSync(end);
  });

  it('a process stops as ever', async () => {
    const metricsPort = await freePort();
    const service = ServiceProcess.launch({ ...env(), WAYBILL_ROLES: 'api', METRICS_PORT: String(metricsPort) }, log);
    const readiness = () => fetch(`http://127.0.0.1:${metricsPort}/health/startup`).catch(() => undefined);
    await waitFor(async () => (await readiness())?.status === 200, { what: 'the service' });
    await terminate(service);
    expect(service.exitCode).toBe(0);
  });

  it('a start that fails ends', async () => {
    const service = ServiceProcess.launch({ ...env(), WAYBILL_ROLES: 'postman' }, log);
    try {
      await waitFor(() => service.exitCode !== null, { what: 'the end of the process' });
    } finally {
      await service.kill('SIGKILL');
    }
    expect(service.exitCode).toBe(1);
  });
});

describe('SIGTERM during the start', () => {
  /** Well before the minute that a database is waited for. */
  const SOON_MS = 30_000;

  async function expectBrokenOff(service: ServiceProcess): Promise<void> {
    await terminate(service, SOON_MS);
    expect(service.exitCode).toBe(0);
    await waitFor(() => service.line('stopped'), { what: 'the last line' });
    expect(service.lines.filter(({ level }) => ['error', 'fatal'].includes(level))).toEqual([]);
  }

  it('is heeded while a database is waited for that takes connections and says nothing', async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
    await waitFor(() => mute.listening, { what: 'the listener' });
    const { port } = mute.address() as AddressInfo;
    const url = `postgres://waybill:secret@127.0.0.1:${port}/waybill`;
    const service = ServiceProcess.launch({ ...env(), DATABASE_URL: url });
    await waitFor(() => service.lines.some(({ msg }) => msg.startsWith('waiting for the database')), {
      what: 'the wait',
    });
    await expectBrokenOff(service);
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  it('is heeded while another process migrates', async () => {
    const fresh = await createTestDatabase();
    const other = new Client(fresh.url);
    await other.connect();
    await other.query('select pg_advisory_lock(7241920045)');
    const service = ServiceProcess.launch({ ...env(), DATABASE_URL: fresh.url });
    const waits = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and query like '%pg_try_advisory_lock%'`;
    await waitFor(async () => (await other.query(waits)).rows.length > 0, { what: 'the wait for the lock' });
    await expectBrokenOff(service);
    await other.end();
    await fresh.drop();
  });

  it('ends initdb, and leaves nothing half-made', async () => {
    const dataDir = mkdtempSync(join(folder, 'embedded-'));
    chmodSync(dataDir, 0o711);
    const service = ServiceProcess.launch({ WAYBILL_DATA_DIR: dataDir });
    await waitFor(() => service.lines.some(({ msg }) => msg.startsWith('creating a database')), {
      what: 'initdb',
    });
    await expectBrokenOff(service);
    expect(readdirSync(dataDir).filter((name) => name.includes('partial'))).toEqual([]);
  });
});
