import { chown, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { clusterPaths } from '../../../src/database/embedded/cluster-location';
import { attachEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import { isAlive } from '../../../src/database/embedded/postmaster-file';
import { waitFor } from '../../setup/wait-for';
import { EmbeddedWorkshop, postmasterOf, query } from './support';

interface Said {
  url: string;
  startedHere: boolean;
  folder: string;
}

const workshop = new EmbeddedWorkshop();
afterEach(() => workshop.cleanUp());

describe('the embedded Postgres after an accident', () => {
  it('starts again on the same port after kill -9 of the server', async () => {
    const dataDir = await workshop.newDataDir();
    const first = await workshop.start(dataDir, { settings: {} });
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    process.kill((await postmasterOf(first)).pid, 'SIGKILL');

    const second = await workshop.start(dataDir);
    expect(second).toMatchObject({ startedHere: true, url: first.url });
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('starts although another process has the number of the killed server', async () => {
    const dataDir = await workshop.newDataDir();
    const first = await workshop.start(dataDir);
    const file = path.join(clusterPaths(first.folder).data, 'postmaster.pid');
    const left = await readFile(file, 'utf8');
    const { uid, gid } = await stat(file);
    await first.stop();
    await writeFile(file, left.replace(/^\d+/, String(process.pid)), { mode: 0o600 });
    await chown(file, uid, gid);

    const second = await workshop.start(dataDir);
    expect(second.startedHere).toBe(true);
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('is found again after kill -9 of the service', async () => {
    const dataDir = await workshop.newDataDir();
    const service = workshop.spawnService(dataDir);
    const said = await service.next<Said>();
    await service.kill();

    const again = await workshop.start(dataDir);
    expect(again).toMatchObject({ startedHere: false, url: said.url });
    await again.stop();
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBeUndefined();
  });

  it('survives Ctrl-C in the terminal until the service stops it', async () => {
    const dataDir = await workshop.newDataDir();
    const service = workshop.spawnService(dataDir);
    const said = await service.next<Said>();
    workshop.removeLater(said.folder);
    const { pid } = await postmasterOf(said);
    service.interruptGroup();

    await expect(service.next()).resolves.toEqual({ answeredAfterSignal: true });
    await expect(service.next()).resolves.toEqual({ stopped: true });
    await waitFor(() => !isAlive(pid), { what: 'the end of the server' });
  });

  it('starts once when two processes start it from nothing', async () => {
    const dataDir = await workshop.newDataDir();
    const services = [workshop.spawnService(dataDir), workshop.spawnService(dataDir)];
    const [first, second] = await Promise.all(services.map((service) => service.next<Said>()));
    expect(second?.url).toBe(first?.url);
    expect([first?.startedHere, second?.startedHere].sort()).toEqual([false, true]);

    const attached = await workshop.start(dataDir);
    await query(attached.url, 'CREATE TABLE shared (id int)');
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBe(first?.url);
  });
});
