import { chmod, cp, lstat, mkdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { findBinaries } from '../../../src/database/embedded/binaries';
import { ensureCluster, readPassword } from '../../../src/database/embedded/cluster';
import { clusterPaths, locateCluster } from '../../../src/database/embedded/cluster-location';
import { attachEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import { attachOrStart, stopServer } from '../../../src/database/embedded/server';
import { EmbeddedWorkshop, postmasterOf, query } from './support';

const isRoot = process.getuid?.() === 0;
const ignore = (): void => undefined;
const workshop = new EmbeddedWorkshop();
afterEach(() => workshop.cleanUp());

describe('the embedded Postgres and the user of the service', () => {
  it('keeps the data below the data directory, also where that is closed to the server, and finds it again', async () => {
    const dataDir = await workshop.newDataDir();
    await mkdir(dataDir);
    await chmod(dataDir, 0o700);
    const first = await workshop.start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBe(first.url);
    await first.stop();
    const second = await workshop.start(dataDir);

    expect(second.folder).toBe(await realpath(dataDir));
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    expect((await lstat(path.join(dataDir, 'pg18'))).isDirectory()).toBe(true);
    // Root hands the server to another user.
    expect((await stat(clusterPaths(dataDir).data)).uid === 0).toBe(false);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    expect(await readFile(clusterPaths(dataDir).log, 'utf8')).toContain('ready to accept connections');
  });

  it('comes up again after a crash in a closed directory', async () => {
    const dataDir = await workshop.newDataDir();
    await mkdir(dataDir, { mode: 0o700 });
    const first = await workshop.start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const { pid } = await postmasterOf(first);
    process.kill(pid, 'SIGKILL');
    const second = await workshop.start(dataDir);
    expect(second.startedHere).toBe(true);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('is in a plain copy of the stopped directory, under any owner', async () => {
    const dataDir = await workshop.newDataDir();
    await mkdir(dataDir, { mode: 0o700 });
    const first = await workshop.start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    const copy = `${dataDir} copy`;
    // As `cp -r`: what is copied belongs to who copies it.
    await cp(dataDir, copy, { recursive: true });
    await query((await workshop.start(dataDir)).url, 'UPDATE kept SET answer = 43');
    const second = await workshop.start(copy);
    expect(second.folder).toBe(await realpath(copy));
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('uses a database that an earlier release stored elsewhere', async () => {
    const dataDir = await workshop.newDataDir();
    const first = await workshop.start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    const elsewhere = await workshop.newDataDir();
    await mkdir(elsewhere, { mode: 0o711 });
    await rename(path.join(dataDir, 'pg18'), path.join(elsewhere, 'pg18'));
    await symlink(path.join(elsewhere, 'pg18'), path.join(dataDir, 'pg18'));
    const said: string[] = [];
    const second = await workshop.start(dataDir, { log: (message) => said.push(message) });
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    expect(said.join('\n')).toContain(`is kept in ${await realpath(elsewhere)}: a copy of the former lacks it`);
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

  it('works when the directory was closed later', async () => {
    const dataDir = await workshop.newDataDir();
    const first = await workshop.start(dataDir);
    await first.stop();
    await chmod(dataDir, 0o700);
    expect((await workshop.start(dataDir)).startedHere).toBe(true);
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
