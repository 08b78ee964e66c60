import { spawn } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { newId } from '../../src/common/ids';
import { DkimKeyring } from '../../src/modules/domains/dkim/dkim-keyring';
import { testConfig } from '../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { MASTER_KEY, ServiceProcess } from './kit/service-process';

const ROOT = join(__dirname, '../..');

let database: TestDatabase;
let workFolder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-roles-'));
});
afterAll(async () => {
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

/** The exit code of the image's HEALTHCHECK. */
async function imageHealthCheck(port: number): Promise<number> {
  const env = { PATH: process.env.PATH, METRICS_PORT: String(port), METRICS_HOST: '0.0.0.0' };
  const check = spawn(process.execPath, ['scripts/healthcheck.mjs'], { cwd: ROOT, env, stdio: 'ignore' });
  const [exitCode] = (await once(check, 'exit')) as [number];
  return exitCode;
}

/** It reports its health on the metrics port, and stops cleanly. */
async function expectHealthAndStop(service: ServiceProcess): Promise<void> {
  const probe = (path: string) => fetch(`http://127.0.0.1:${service.metricsPort}${path}`);
  expect((await probe('/health')).status).toBe(200);
  const ready = await probe('/health/startup');
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: 'ready', timestamp: expect.any(String), database: { healthy: true, latencyMs: expect.any(Number) } },
  ]);
  expect(await (await probe('/health/detailed')).json()).toMatchObject({
    services: { database: { healthy: true } },
  });
  expect(await imageHealthCheck(service.metricsPort)).toBe(0);
  await service.stop();
  expect(service.exitCode).toBe(0);
  expect(service.lines.filter((line) => ['error', 'fatal'].includes(line.level))).toEqual([]);
  expect(await imageHealthCheck(service.metricsPort)).toBe(1);
}

describe("the image's health check", () => {
  const startup = { status: 'not_ready', database: { healthy: false, latencyMs: 2_000, error: 'timeout' } };

  it.each([
    ['its database is away or slow', startup, 0],
    ['it waits for its schema', { ...startup, reason: 'the schema is too old' }, 1],
    ['it is stopping', { ...startup, database: { healthy: true, latencyMs: 1 } }, 1],
  ])('of a process that is not ready because %s', async (_why, body, exitCode) => {
    const server = createServer((_request, response) => response.writeHead(503).end(JSON.stringify(body)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    expect(await imageHealthCheck((server.address() as AddressInfo).port)).toBe(exitCode);
    server.close();
  });
});

describe('a process', () => {
  const start = (roles: string, env: Record<string, string> = {}) =>
    ServiceProcess.start({
      ...{ DATABASE_URL: database.url, WAYBILL_DATA_DIR: workFolder, WAYBILL_ROLES: roles },
      ...env,
    });

  it.each(['api', 'worker', 'inbound', 'api,inbound'])(
    'with the roles %s starts, reports its health on the metrics port and stops cleanly',
    async (roles) => {
      const service = await start(roles);
      expect(service.line('ready')).toMatchObject({ roles: roles.split(',') });
      await expectHealthAndStop(service);
    },
  );

  describe('with a master key that is not the one of its database', () => {
    const other = Buffer.alloc(32, 'other').toString('base64');
    beforeAll(async () => {
      const owner = { organizationId: newId(), domainId: newId(), selector: 'wb1' };
      const encrypted = new DkimKeyring(testConfig({ MASTER_KEY })).encrypt(Buffer.from('key'), owner);
      const client = new Client(database.url);
      await client.connect();
      await client.query(
        `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key)
         values ($1, $2, $3, $4, '')`,
        [...Object.values(owner), encrypted],
      );
      await client.end();
    });

    it.each(['api', 'worker', 'inbound'])('does not start in the role %s', async (roles) => {
      await expect(start(roles, { MASTER_KEY: other })).rejects.toThrow(
        'MASTER_KEY decrypts none of the DKIM keys in this database',
      );
    });

    it('starts when it has the other one too', async () => {
      const service = await start('api,worker', { MASTER_KEY: other, MASTER_KEY_PREVIOUS: MASTER_KEY });
      await service.stop();
      expect(service.exitCode).toBe(0);
    });

    it('starts in the role dns, which needs none, and serves its zone', async () => {
      const service = await start('dns', { MASTER_KEY: other, DKIM_ZONE: 'dkim.example.org' });
      expect(service.line('ready')).toMatchObject({ roles: ['dns'] });
      const { msg } = await waitFor(
        () => service.lines.find((line) => /answers for dkim\.example\.org/.test(line.msg)),
        {
          what: 'the responder',
        },
      );
      const resolver = new Resolver();
      resolver.setServers([`127.0.0.1:${/port (\d+)/.exec(msg)?.[1]}`]);
      expect(await resolver.resolveNs('dkim.example.org')).toEqual(['mail.waybill.test']);
      await expect(resolver.resolveTxt('wb1.dkim.example.org')).rejects.toMatchObject({ code: 'ENOTFOUND' });
      await expectHealthAndStop(service);
    });
  });
});
