import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../setup/free-port';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { ApiClient } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';

let database: TestDatabase;
let tenant: Tenant;
let dataDir: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const tenants = await TenantFactory.open(database.url);
  tenant = await tenants.create();
  await tenants.close();
  dataDir = mkdtempSync(join(tmpdir(), 'waybill-full-'));
});
afterAll(async () => {
  await database.drop();
  rmSync(dataDir, { recursive: true });
});

/** The replies to these commands, each sent after the reply to the one before. */
async function smtp(port: number, commands: string[]): Promise<string[]> {
  const socket = createConnection(port, '127.0.0.1');
  const replies: string[] = [];
  for await (const line of createInterface({ input: socket })) {
    if (line[3] === '-') continue;
    replies.push(line);
    const next = commands.shift();
    if (next === undefined) break;
    socket.write(`${next}\r\n`);
  }
  socket.destroy();
  return replies;
}

describe('a service whose disk is nearly full', () => {
  it('takes no new mail, says when to come again, and does everything else', async () => {
    const inboundPort = await freePort();
    const service = await ServiceProcess.start({
      ...{ DATABASE_URL: database.url, WAYBILL_DATA_DIR: dataDir, INBOUND_SMTP_PORT: String(inboundPort) },
      // More than any disk of a test machine has.
      ...{ DISK_RESERVE_MB: '1073741824', MAIL_HOST: 'mail.example.org' },
    });
    const api = new ApiClient(service.port, tenant.liveKey);
    const email = { from: `a@${tenant.domain}`, to: ['b@example.com'], subject: 's', text: 't' };
    for (const [path, body] of [
      ['/v1/emails', email],
      ['/v1/emails/batch', [email]],
    ] as const) {
      const refused = await api.post(path, body);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
      expect(refused.body.error).toMatchObject({ code: 'service_unavailable' });
    }
    expect((await api.get('/v1/emails')).body.data).toEqual([]);
    expect((await api.get('/health/startup')).status).toBe(200);
    expect((await api.get('/health/detailed')).body).toMatchObject({
      status: 'degraded',
      services: { disk: { healthy: false, freeBytes: expect.any(Number) } },
    });
    const commands = ['EHLO client.example', 'MAIL FROM:<>', 'RCPT TO:<postmaster@mail.example.org>'];
    expect((await smtp(inboundPort, commands)).at(-1)).toMatch(/^452 4\.3\.1 /);
    const metrics = await fetch(`http://127.0.0.1:${service.metricsPort}/metrics`);
    expect(await metrics.text()).toContain('waybill_disk_low 1');
    expect(service.lines.filter(({ msg }) => msg.startsWith('New mail is refused until there is room'))).toHaveLength(
      1,
    );
    await service.stop();
    expect(service.exitCode).toBe(0);
  });
});
