import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { clusterPaths } from '../../../src/database/embedded/cluster-location';
import { attachEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import { isAlive } from '../../../src/database/embedded/postmaster-file';
import { waitFor } from '../../setup/wait-for';
import { EmbeddedWorkshop, postmasterOf, query } from './support';

const workshop = new EmbeddedWorkshop();
/** Has a cluster from the first test on that starts one; nothing runs between the tests. */
let dataDir: string;
beforeAll(async () => (dataDir = await workshop.newDataDir()));
afterEach(() => workshop.stopServers());
afterAll(() => workshop.cleanUp());

describe('the embedded Postgres', () => {
  it('makes a database on the first start', async () => {
    const server = await workshop.start(await workshop.newDataDir());
    const [database] = await query(
      server.url,
      `SELECT current_database() AS name, pg_encoding_to_char(encoding) AS encoding, datlocale AS locale,
              current_setting('TimeZone') AS timezone, current_setting('listen_addresses') AS listens,
              current_setting('synchronous_commit') AS durable, current_setting('fsync') AS given,
              (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser
       FROM pg_database WHERE datname = current_database()`,
    );
    expect(server.startedHere).toBe(true);
    expect(database).toEqual({
      name: 'waybill',
      encoding: 'UTF8',
      locale: 'C.UTF-8',
      timezone: 'UTC',
      listens: '127.0.0.1',
      durable: 'on',
      given: 'off',
      superuser: false,
    });
  });

  it('requires a password that only its owner can read', async () => {
    const server = await workshop.start(dataDir);
    const { password, log } = clusterPaths(server.folder);
    expect((await stat(password)).mode & 0o777).toBe(0o600);
    expect((await stat(log)).mode & 0o777).toBe(0o600);
    expect((await stat(password)).uid).toBe(process.getuid?.());

    const wrong = new URL(server.url);
    wrong.password = 'guess';
    await expect(query(wrong.toString(), 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect(await readFile(log, 'utf8')).not.toContain(new URL(server.url).password);
  });

  it('keeps the data over a stop and a second start', async () => {
    const first = await workshop.start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();

    const second = await workshop.start(dataDir);
    expect(second.startedHere).toBe(true);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('is attached to by the process that comes second', async () => {
    const first = await workshop.start(dataDir);
    const second = await workshop.start(dataDir);
    expect(second).toMatchObject({ startedHere: false, url: first.url, folder: first.folder });
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBe(first.url);
  });

  it('is attached to by a command only while it runs', async () => {
    await expect(attachEmbeddedPostgres(await workshop.newDataDir())).resolves.toBeUndefined();
    const server = await workshop.start(dataDir);
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBe(server.url);
    await server.stop();
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBeUndefined();
  });

  it('leaves nothing running after a stop, and stops only once', async () => {
    const server = await workshop.start(dataDir);
    const { pid } = await postmasterOf(server);
    await Promise.all([server.stop(), server.stop()]);
    await waitFor(() => !isAlive(pid), { what: 'the end of the server' });
    await expect(postmasterOf(server)).rejects.toThrow('no server runs');
    await expect(query(server.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });

  it('stays up while another process is connected, and stops with the last', async () => {
    const first = await workshop.start(dataDir);
    const second = await workshop.start(dataDir);
    const client = new Client(second.url);
    await client.connect();

    await first.stop();
    await expect(client.query('SELECT 1')).resolves.toMatchObject({ rowCount: 1 });
    await client.end();
    await second.stop();
    await expect(attachEmbeddedPostgres(dataDir)).resolves.toBeUndefined();
  });

  it('takes a given port', async () => {
    const first = await workshop.start(dataDir);
    const { port } = await postmasterOf(first);
    await first.stop();
    const second = await workshop.start(dataDir, { port });
    expect(new URL(second.url).port).toBe(String(port));
  });

  it('names the log file and the reason when it cannot start', async () => {
    const attempt = workshop.start(dataDir, { settings: { shared_buffers: 'plenty' } });
    await expect(attempt).rejects.toThrow(/see .*postgres\.log: .*invalid value for parameter "shared_buffers"/s);
  });

  it('is not made anew beside the data of another version', async () => {
    const dataDir = await workshop.newDataDir();
    await mkdir(path.join(dataDir, 'pg17'), { recursive: true });
    await expect(workshop.start(dataDir)).rejects.toThrow(
      /pg17 is of PostgreSQL 17, and this release runs PostgreSQL 18/,
    );
    expect(await readdir(dataDir)).toEqual(['pg17']);
  });

  it('refuses characters that a shell interprets', async () => {
    await expect(workshop.start(path.join(dataDir, '$HOME'))).rejects.toThrow('character in its path');
    await expect(workshop.start(dataDir, { settings: { timezone: '"; id' } })).rejects.toThrow('cannot be passed on');
  });
});
