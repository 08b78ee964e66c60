import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { ServiceProcess } from './kit/service-process';

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

describe('a process', () => {
  it.each(['api', 'worker', 'inbound', 'dns', 'api,inbound'])(
    'with the roles %s starts and stops cleanly',
    async (roles) => {
      const service = await ServiceProcess.start({
        DATABASE_URL: database.url,
        WAYBILL_DATA_DIR: workFolder,
        WAYBILL_ROLES: roles,
      });
      expect(service.line('ready')).toMatchObject({ roles: roles.split(',') });
      expect(service.metricsPort).toBeGreaterThan(0);
      await service.stop();
      expect(service.exitCode).toBe(0);
      expect(service.lines.filter((line) => ['error', 'fatal'].includes(line.level))).toEqual([]);
    },
  );
});
