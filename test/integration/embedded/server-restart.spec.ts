import { rename, writeFile } from 'node:fs/promises';
import { attachEmbeddedPostgres, startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import { openDatabase, type OpenDatabase } from '../../../src/database/start/open-database';
import { waitFor } from '../../setup/wait-for';
import { EmbeddedWorkshop, postmasterOf, query } from './support';

const workshop = new EmbeddedWorkshop();
let dataDir: string;
let folder: string;
let said: string[];
let database: OpenDatabase;

beforeAll(async () => {
  dataDir = await workshop.newDataDir();
  const server = await workshop.start(dataDir);
  folder = server.folder;
  await server.stop();
});
beforeEach(async () => {
  said = [];
  const config = { dataDir, database: { url: undefined, poolSize: 2, migrateOnStart: false } };
  database = await openDatabase(config, { log: (message) => said.push(message), stopWhenLast: true, restart: true });
});
afterEach(() => database.stop());
afterAll(() => workshop.cleanUp());

async function killServer(): Promise<number> {
  const { pid } = await postmasterOf({ folder });
  process.kill(pid, 'SIGKILL');
  await waitFor(() => said.at(-1)?.includes('is gone'), { what: 'the loss to be noticed' });
  return pid;
}

function untilBack(): Promise<unknown> {
  return waitFor(() => said.at(-1)?.includes('is back'), { what: 'the server to be back' });
}

describe('the embedded Postgres of a running service', () => {
  it('is started again at the same address whenever it is killed, with what was committed', async () => {
    await query(database.url, 'create table kept as select 42 as answer');
    for (let round = 0; round < 2; round += 1) {
      const killed = await killServer();
      await untilBack();
      expect((await postmasterOf({ folder })).pid).not.toBe(killed);
      expect(await query(database.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    }
    expect(said.filter((line) => line.includes('is gone'))).toHaveLength(2);
  });

  it('is not replaced by an empty one while its directory is away, as with a volume that is not mounted', async () => {
    const answer = 'select count(*)::int as tables from pg_tables where tablename = $$kept_too$$';
    await query(database.url, 'create table kept_too ()');
    const away = `${dataDir}-away`;
    const { pid } = await postmasterOf({ folder });
    await rename(dataDir, away);
    process.kill(pid, 'SIGKILL');
    try {
      await waitFor(() => said.at(-1)?.includes('bring that directory back'), { what: 'the reason' });
      await expect(attachEmbeddedPostgres(dataDir)).resolves.toBeUndefined();
    } finally {
      await rename(away, dataDir);
    }
    await untilBack();
    expect(await query(database.url, answer)).toEqual([{ tables: 1 }]);
  });

  it('is not started again by a stop in between', async () => {
    const { pid } = await postmasterOf({ folder });
    process.kill(pid, 'SIGKILL');
    await database.stop();
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBeUndefined();
  });

  it('stays down after an orderly stop', async () => {
    await database.stop();
    expect(said.at(-1)).toBe('Postgres stopped');
    expect(said.join()).not.toContain('is gone');
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBeUndefined();
  });
});

describe('a data directory that cannot be made', () => {
  it('is named, with its variable and the remedy', async () => {
    const file = `${folder}/a-file`;
    await writeFile(file, '');
    await expect(startEmbeddedPostgres({ dataDir: `${file}/below` })).rejects.toThrow(
      /^WAYBILL_DATA_DIR: .* cannot be used, since a part of the path is a file/,
    );
  });
});
