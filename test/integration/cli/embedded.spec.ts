import { existsSync } from 'node:fs';
import { attachEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import { loadConfig } from '../../../src/config/load-config';
import { EmbeddedWorkshop } from '../embedded/support';
import { runWith } from './cli-kit';

const workshop = new EmbeddedWorkshop();
let dataDir: string;
beforeAll(async () => {
  dataDir = await workshop.newDataDir();
  // As a service does it: the key first.
  loadConfig({ WAYBILL_DATA_DIR: dataDir });
  await (await workshop.start(dataDir)).stop();
});
afterEach(() => workshop.stopServers());
afterAll(() => workshop.cleanUp());

const json = async (...args: string[]): Promise<any> => {
  const { exitCode, stdout, stderr } = await runWith({ WAYBILL_DATA_DIR: dataDir }, [...args, '--json']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
};

describe('the command line on the embedded database', () => {
  it('starts the server when it does not run, and stops it again', async () => {
    const created = await json('org', 'create', 'Alone');
    expect(await json('org', 'list')).toMatchObject([created]);
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBeUndefined();
  });

  it('works beside a running service, and leaves its server alone', async () => {
    const { url } = await workshop.start(dataDir);
    const { id } = await json('org', 'create', 'Beside');
    expect(await json('org', 'suspend', id)).toMatchObject({ status: 'suspended' });
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBe(url);
  });

  it('makes no database to look at, or to back up', async () => {
    const other = await workshop.newDataDir();
    for (const args of [['doctor'], ['backup', `${other}.backup`]]) {
      const { exitCode, stdout, stderr } = await runWith({ WAYBILL_DATA_DIR: other }, args);
      expect([exitCode, stdout + stderr]).toEqual([1, expect.stringContaining('There is no database in')]);
    }
    expect(existsSync(other)).toBe(false);
  });
});
