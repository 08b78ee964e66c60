import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { DiskSpace } from '../../../src/common/disk-space';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { MIB } from '../../../src/common/http/request/request-body';
import { ApiClient } from '../../e2e/kit/api-client';
import { createTenant } from '../../factories/tenants';
import { type Api, startApi } from '../../setup/api-context';
import { openTestDatabase, type OpenTestDatabase } from '../../setup/open-test-database';

const RESERVE = 10 * MIB;

describe('a disk that one organization fills', () => {
  let db: OpenTestDatabase;
  let api: Api;
  let free: number;
  let disk: DiskSpace;
  beforeAll(async () => {
    db = await openTestDatabase();
    free = 1_000 * MIB;
    disk = new DiskSpace({ folders: ['/'], reserveBytes: RESERVE, freeBytes: () => Promise.resolve(free) });
    await disk.read();
    api = await startApi(db.url, { disk, env: { RATE_LIMIT_ENABLED: 'false' } });
  });
  afterAll(async () => {
    await api.close();
    await db.drop();
  });

  async function newClient() {
    const tenant = await createTenant(db);
    const fields = { name: 'x', mode: 'live' as const, scopes: ALL_SCOPES };
    const { key } = await api.get(ApiKeysService).create(tenant.organizationId, fields);
    const client = new ApiClient(api.port, key);
    const send = async (bytes: number) => {
      const { status, body } = await client.post('/v1/emails', {
        ...{ from: `a@${tenant.domain}`, to: ['b@example.com'], subject: 's', text: 'x'.repeat(bytes) },
      });
      return { status, code: body.error?.code };
    };
    return { client, send };
  }

  it('is closed to that organization first: to its mail and its suppressions', async () => {
    const [loud, quiet] = [await newClient(), await newClient()];
    for (let count = 0; count < 4; count += 1) expect((await loud.send(MIB)).status).toBe(202);
    free = RESERVE + 7 * MIB;
    for (let readings = 0; readings < 2; readings += 1) await disk.read();
    expect(await loud.send(10)).toEqual({ status: 429, code: 'rate_limit_exceeded' });
    const entry = { email: 'gone@example.com', reason: 'manual' };
    expect((await loud.client.post('/v1/suppressions/batch', [entry])).status).toBe(429);
    expect((await loud.client.get('/v1/emails')).status).toBe(200);
    expect((await quiet.send(MIB)).status).toBe(202);
    expect((await quiet.client.post('/v1/suppressions/batch', [entry])).status).toBe(201);
    free = 1_000 * MIB;
    await disk.read();
    expect((await loud.send(10)).status).toBe(202);
  });

  it('counts the refusals that are stored under the keys of batches', async () => {
    const [loud, quiet] = [await newClient(), await newClient()];
    const wrong = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${index}`.padEnd(64, 'x'), 1]));
    const refuse = (key?: string) =>
      loud.client.post('/v1/emails/batch', Array(100).fill(wrong), key ? { 'x-idempotency-key': key } : {});
    for (let count = 0; count < 12; count += 1) expect((await refuse(`${count}`)).status).toBe(202);
    free = RESERVE + 2 * MIB;
    for (let readings = 0; readings < 2; readings += 1) await disk.read();
    expect((await refuse('another')).status).toBe(429);
    expect(await loud.send(10)).toEqual({ status: 429, code: 'rate_limit_exceeded' });
    expect((await quiet.send(10)).status).toBe(202);
    free = 1_000 * MIB;
    await disk.read();
    const [stored] = await db.query(
      'select count(*)::int, max(octet_length(response::text)) as most from idempotency_keys',
    );
    expect(stored?.count).toBe(12);
    expect(stored?.most).toBeLessThan(256 * 1024);
  });
});
