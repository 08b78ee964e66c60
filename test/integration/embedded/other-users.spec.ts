import { chmod, lstat, mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { findBinaries } from '../../../src/database/embedded/binaries';
import { ensureCluster, readPassword } from '../../../src/database/embedded/cluster';
import { locateCluster, STATE_FOLDER } from '../../../src/database/embedded/cluster-location';
import { attachOrStart, stopServer } from '../../../src/database/embedded/server';
import { EmbeddedWorkshop, query } from './support';

const isRoot = process.getuid?.() === 0;
const ignore = (): void => undefined;
const workshop = new EmbeddedWorkshop();
afterEach(() => workshop.cleanUp());

describe('the embedded Postgres and the user of the service', () => {
  it('keeps the data where the server can reach it, and finds it again', async () => {
    const dataDir = await workshop.newDataDir();
    await mkdir(dataDir);
    await chmod(dataDir, 0o700);
    const first = await workshop.start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    const second = await workshop.start(dataDir);

    expect(second.folder).toBe(first.folder);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    // Root hands the server to another user, to whom this directory is closed.
    expect(path.dirname(first.folder) === STATE_FOLDER).toBe(isRoot);
    expect((await lstat(path.join(dataDir, 'pg18'))).isSymbolicLink()).toBe(isRoot);
  });

  it('begins with an empty database when the data directory was emptied', async () => {
    const dataDir = await workshop.newDataDir();
    await mkdir(dataDir, { mode: 0o700 });
    const first = await workshop.start(dataDir);
    await query(first.url, 'CREATE TABLE old (id int)');
    await first.stop();
    await rm(dataDir, { recursive: true });
    await mkdir(dataDir, { mode: 0o700 });

    const second = await workshop.start(dataDir);
    expect(await query(second.url, `SELECT to_regclass('old') AS found`)).toEqual([{ found: null }]);
  });

  it('leaves the data directory itself to the service', async () => {
    const dataDir = await workshop.newDataDir();
    await workshop.start(dataDir);
    const { uid, mode } = await stat(dataDir);
    expect(uid).toBe(process.getuid?.());
    expect(mode & 0o777).toBe(isRoot ? 0o711 : 0o700);
  });

  it('says so when the directory was closed later', async () => {
    const dataDir = await workshop.newDataDir();
    const first = await workshop.start(dataDir);
    await first.stop();
    await chmod(dataDir, 0o700);
    const outcome = await workshop.start(dataDir).then(
      () => 'started',
      (error: Error) => error.message,
    );
    expect(outcome).toMatch(isRoot && first.folder.startsWith(path.dirname(dataDir)) ? /chmod o\+x/ : /^started$/);
  });

  it('runs as a user id that has no account', async () => {
    const dataDir = await workshop.newDataDir();
    await mkdir(dataDir, { mode: 0o711 });
    const location = await locateCluster(dataDir, ignore);
    workshop.removeLater(location.folder);
    if (isRoot) location.user = { uid: 54_321, gid: 54_321 };
    const binaries = await findBinaries(location.user, dataDir);
    const paths = await ensureCluster(location, binaries, { initdbArguments: ['--no-sync'], log: ignore });
    const server = { location, paths, binaries, password: await readPassword(paths) };

    const running = await attachOrStart(server, { settings: {}, port: undefined });
    expect(running.startedHere).toBe(true);
    expect((await stat(paths.data)).uid).toBe(location.user?.uid ?? process.getuid?.());
    await expect(stopServer(server, true)).resolves.toBe(true);
  });
});
