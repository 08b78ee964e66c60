import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../setup/free-port';
import { waitFor } from '../setup/wait-for';
import { ApiClient, eventTypes } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';

/** Sends what the printed curl command would send; curl itself need not be installed. Returns the email's id. */
async function sendAsPrinted(output: string): Promise<string> {
  const command = output.split('\n').find((line) => line.startsWith('curl ')) ?? '';
  const words = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${command}`], { encoding: 'utf8' }).split(
    '\0',
  );
  const headers = words.filter((_word, index) => words[index - 1] === '-H').map((line) => line.split(': ', 2));
  const url = words.find((word) => word.startsWith('http://')) ?? '';
  const response = await fetch(url, {
    method: 'POST',
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: words[words.indexOf('-d') + 1] ?? '',
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { data: { id: string } }).data.id;
}

/** Those of the pool yield to the event loop. */
function nicenessOfThreads(pid: number | undefined): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync(`/proc/${pid}/task`).map((id) => {
    const [, fields = ''] = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8').split(') ');
    return Number(fields.split(' ')[16]);
  });
}

/** The first minutes of a newcomer: one command, one mail, and what remains after Ctrl-C. */
describe('a first start', () => {
  let dataDir: string;
  beforeAll(() => (dataDir = mkdtempSync(join(tmpdir(), 'waybill-newcomer-'))));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  const start = () => ServiceProcess.start({ WAYBILL_DATA_DIR: dataDir });
  const credentials = () => JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
  const postmasterPid = () => Number(readFileSync(join(dataDir, 'pg18/data/postmaster.pid'), 'utf8').split('\n')[0]);
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  it('sends a mail, shows it in the mailbox, and keeps it over a restart', async () => {
    const port = await freePort();
    const service = ServiceProcess.launch({ WAYBILL_DATA_DIR: dataDir, PORT: String(port) });
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/health/startup`).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitFor(isReady, { what: 'the service' });
    // Scripts wait for this path, and then read the keys.
    expect(credentials()).toMatchObject({ liveKey: expect.any(String) });
    await waitFor(() => service.line('ready') !== undefined, { what: 'the line "ready"' });
    // Standard error has a pipe of its own, which may be read after that of the line "ready".
    await waitFor(() => service.other.includes('curl'), { what: 'the welcome' });
    expect(service.other).not.toContain(credentials().liveKey);
    expect(service.other).toMatch(/Console: http:\/\/localhost:\d+\/console#link=[\w-]{43} /);
    expect(statSync(join(dataDir, 'credentials.json')).mode & 0o777).toBe(0o600);
    expect(credentials()).toMatchObject({
      domain: 'waybill.test',
      liveKey: expect.stringMatching(/^wb_live_/),
      testKey: expect.stringMatching(/^wb_test_/),
    });
    const first = await sendAsPrinted(service.other);
    const api = new ApiClient(service.port, credentials().liveKey);
    expect(await api.waitForStatus(first, 'delivered')).toMatchObject({ subject: 'Hello from Waybill' });
    const id = await api.send({
      from: 'hello@waybill.test',
      to: ['you@example.com'],
      subject: 'First mail <b>',
      html: '<p>It works.</p>',
      category: 'bulk',
    });
    const email = await api.waitForStatus(id, 'delivered');
    expect(eventTypes(email)).toEqual(['queued', 'sending', 'sent', 'delivered']);
    const listed = await api.as(undefined).get('/mailbox/messages.json');
    expect(listed.body.data).toEqual([
      expect.objectContaining({ recipients: ['you@example.com'], subject: 'First mail <b>' }),
      expect.objectContaining({ recipients: ['you@example.com'], subject: 'Hello from Waybill' }),
    ]);
    const raw = await api.as(undefined).get(`/mailbox/${listed.body.data[0].id}/raw`);
    expect(raw.body).toContain(`List-Unsubscribe: <http://localhost:${service.port}/u/`);
    const page = await api.as(undefined).get('/mailbox');
    expect(page.body).toContain('First mail &lt;b&gt;');
    for (const path of ['/health', '/health/startup', '/health/detailed', '/openapi.json', '/docs']) {
      expect(await api.as(undefined).get(path)).toMatchObject({ status: 200 });
    }
    const yielding = nicenessOfThreads(service.child.pid).filter((nice) => nice === 10);
    expect(yielding).toHaveLength(process.platform === 'linux' ? 4 : 0);
    const metrics = await new ApiClient(service.metricsPort, undefined).get('/metrics');
    expect(metrics.body).toContain('waybill_deliveries_total{outcome="delivered"} 2');
    expect(metrics.body).toContain('waybill_live_deliveries_total{outcome="delivered"} 2');
    const postmaster = postmasterPid();
    expect(isAlive(postmaster)).toBe(true);

    await service.kill('SIGINT');
    expect(service.exitCode).toBe(0);
    await waitFor(() => !isAlive(postmaster), { what: 'Postgres to end' });
    expect(existsSync(join(dataDir, 'pg18/data/postmaster.pid'))).toBe(false);
    expect(service.lines.every((line) => typeof line.msg === 'string')).toBe(true);
    expect(service.lines.map((line) => JSON.stringify(line)).join('\n')).not.toContain(credentials().liveKey);

    const before = credentials();
    const again = await start();
    expect(credentials()).toEqual(before);
    await waitFor(() => again.other.includes('Console:'), { what: 'the welcome' });
    expect(again.other).not.toContain('#link=');
    expect(await new ApiClient(again.port, before.liveKey).email(id)).toMatchObject({ status: 'delivered' });
    await again.stop();
    expect(again.exitCode).toBe(0);
  });
});
