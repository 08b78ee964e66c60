import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { ApiKeyVerifier } from '../../../src/auth/keys/api-key-verifier.service';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { createServices } from '../../../src/cli/session/services';
import type { AppConfig } from '../../../src/config/config';
import { loadConfig } from '../../../src/config/load-config';
import { DkimKeysService } from '../../../src/modules/domains/dkim/dkim-keys.service';
import { DomainDetailsService } from '../../../src/modules/domains/domain-details.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { DomainVerificationService } from '../../../src/modules/domains/verification/domain-verification.service';
import { type Credentials, seedFirstStart } from '../../../src/bootstrap/first-start';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { query } from '../embedded/support';

let database: TestDatabase;
let config: AppConfig;
let file: string;
const contexts: INestApplicationContext[] = [];

/** A separate process from the point of view of the seeding: embedded mode, but on a test database. */
async function startProcess(): Promise<INestApplicationContext> {
  const context = await createServices(config, database.url);
  contexts.push(context);
  return context;
}

beforeEach(async () => {
  database = await createTestDatabase();
  const dataDir = await mkdtemp(path.join(os.tmpdir(), 'waybill-seed-'));
  config = loadConfig({ WAYBILL_DATA_DIR: dataDir, DATABASE_POOL_SIZE: '2' });
  file = path.join(dataDir, 'credentials.json');
});
afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
  await database.drop();
  await rm(config.dataDir, { recursive: true });
});

const count = async (table: string): Promise<number> =>
  (await query<{ count: number }>(database.url, `select count(*)::int as count from ${table}`))[0]?.count ?? -1;

async function expectUsable(app: INestApplicationContext, credentials: Credentials | undefined): Promise<void> {
  const { organizationId, domain, liveKey, testKey } = credentials ?? ({} as Credentials);
  const verifier = app.get(ApiKeyVerifier);
  for (const [key, mode] of [
    [liveKey, 'live'],
    [testKey, 'test'],
  ] as const) {
    await expect(verifier.verify(key)).resolves.toMatchObject({ organizationId, mode, scopes: new Set(ALL_SCOPES) });
  }
  await expect(app.get(DomainsService).findForSending(organizationId, undefined)).resolves.toMatchObject({
    domain,
    verificationStatus: 'verified',
  });
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(credentials);
}

describe('seedFirstStart', () => {
  it('makes organization, domain and keys on an empty database, and a file for their owner only', async () => {
    const app = await startProcess();
    const credentials = await seedFirstStart(app, config);
    expect(credentials).toMatchObject({ domain: 'waybill.test' });
    await expectUsable(app, credentials);
    await expect(app.get(OrganizationsService).list()).resolves.toMatchObject([{ name: 'default', status: 'active' }]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readdir(config.dataDir)).sort()).toEqual(['credentials.json', 'master.key']);
  });

  it('makes a domain whose records and statuses agree, now, after every check and a rotation', async () => {
    const app = await startProcess();
    const { organizationId = '' } = (await seedFirstStart(app, config)) ?? {};
    const find = async () => {
      const domain = await app.get(DomainsService).findForSending(organizationId, 'waybill.test');
      if (!domain) throw new Error('there is no domain');
      return domain;
    };
    const shown = async () => {
      const { domain, records } = await app.get(DomainDetailsService).detailOf(await find());
      const { verificationStatus, dkimStatus, returnPathVerified, trackingVerified } = domain;
      const unverified = records.filter(({ verified }) => !verified).map(({ record }) => record.purpose);
      return { verificationStatus, dkimStatus, returnPathVerified, trackingVerified, unverified };
    };
    const agreeing = {
      ...{ verificationStatus: 'verified', dkimStatus: 'verified', unverified: ['return_path', 'tracking'] },
      ...{ returnPathVerified: false, trackingVerified: false },
    };
    expect(await shown()).toEqual(agreeing);

    const { id } = await find();
    const verification = app.get(DomainVerificationService);
    const report = await verification.verifyAndReport(organizationId, id, 'operator');
    expect(report).toMatchObject({ status: 'verified', domainVerified: true, dkimVerified: true });
    await app.get(DkimKeysService).rotate(organizationId, id, 'operator');
    await verification.recheck(organizationId, id);
    expect(await shown()).toEqual(agreeing);
  });

  it('reads them back at later starts, and closes files that were left open', async () => {
    const first = await seedFirstStart(await startProcess(), config);
    const key = path.join(config.dataDir, 'master.key');
    for (const open of [file, key]) await chmod(open, 0o644);
    loadConfig({ WAYBILL_DATA_DIR: config.dataDir });
    const second = await seedFirstStart(await startProcess(), config);
    expect(second).toEqual(first);
    for (const open of [file, key]) expect((await stat(open)).mode & 0o777).toBe(0o600);
    expect([await count('organizations'), await count('domains'), await count('api_keys')]).toEqual([1, 1, 2]);
  });

  it('completes what a start left that died: after the organization', async () => {
    const app = await startProcess();
    const { id } = await app.get(OrganizationsService).create('default');
    const credentials = await seedFirstStart(app, config);
    expect(credentials?.organizationId).toBe(id);
    await expectUsable(app, credentials);
    expect(await count('organizations')).toBe(1);
  });

  it('completes what a start left that died: between the domain and its verification', async () => {
    const app = await startProcess();
    const { id } = await app.get(OrganizationsService).create('default');
    await app.get(DomainsService).add(id, 'waybill.test');
    await expectUsable(app, await seedFirstStart(app, config));
    expect([await count('organizations'), await count('domains')]).toEqual([1, 1]);
  });

  it('completes what a start left that died: between the two keys', async () => {
    const app = await startProcess();
    const keys = app.get(ApiKeysService);
    const create = keys.create.bind(keys);
    const dying = jest.spyOn(keys, 'create').mockImplementation((organizationId, wanted) => {
      return wanted.mode === 'live' ? create(organizationId, wanted) : Promise.reject(new Error('killed'));
    });
    await expect(seedFirstStart(app, config)).rejects.toThrow('killed');
    dying.mockRestore();
    expect(await count('api_keys')).toBe(1);
    await expect(readFile(file)).rejects.toThrow('ENOENT');
    await expectUsable(app, await seedFirstStart(await startProcess(), config));
    expect([await count('organizations'), await count('domains')]).toEqual([1, 1]);
  });

  it('makes new keys, and nothing else, when the file is gone, broken or half written', async () => {
    const app = await startProcess();
    const first = await seedFirstStart(app, config);
    await rm(file);
    const second = await seedFirstStart(app, config);
    await writeFile(file, '{"organizationId":');
    await writeFile(`${file}.tmp`, '{"organizationId":');
    const third = await seedFirstStart(app, config);
    for (const other of [second, third]) {
      expect(other?.organizationId).toBe(first?.organizationId);
      expect(other?.liveKey).not.toBe(first?.liveKey);
    }
    await expectUsable(app, third);
    expect([await count('organizations'), await count('domains'), await count('api_keys')]).toEqual([1, 1, 6]);
  });

  it('happens once when several processes start at once', async () => {
    const apps = await Promise.all([startProcess(), startProcess(), startProcess()]);
    const [first, ...others] = await Promise.all(apps.map((app) => seedFirstStart(app, config)));
    await expectUsable(apps[0], first);
    expect(others).toEqual([first, first]);
    expect([await count('organizations'), await count('domains'), await count('api_keys')]).toEqual([1, 1, 2]);
  });

  it('creates everything again when the file belongs to a database that is gone', async () => {
    const app = await startProcess();
    const old = {
      organizationId: '01890000-0000-7000-8000-000000000000',
      domain: 'waybill.test',
      liveKey: 'wb_live_x',
      testKey: 'wb_test_x',
    };
    await writeFile(file, JSON.stringify(old));
    const credentials = await seedFirstStart(app, config);
    expect(credentials?.organizationId).not.toBe(old.organizationId);
    await expectUsable(app, credentials);
  });

  it('changes no database that has organizations, and no external one', async () => {
    const app = await startProcess();
    const external = { ...config, database: { ...config.database, url: database.url } };
    await expect(seedFirstStart(app, external)).resolves.toBeUndefined();
    await app.get(OrganizationsService).create('Acme');
    await expect(seedFirstStart(app, config)).resolves.toBeUndefined();
    expect([await count('organizations'), await count('domains'), await count('api_keys')]).toEqual([1, 0, 0]);
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });
});
