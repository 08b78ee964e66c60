import { constants, rmSync } from 'node:fs';
import { access, chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { createDataSource } from '../../src/database/pool/data-source';
import { clusterPaths, findClusterFolder } from '../../src/database/embedded/cluster-location';
import type { EmbeddedPostgres } from '../../src/database/embedded/embedded-postgres';
import { attachEmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres';
import { isAlive, readPostmasterFile } from '../../src/database/embedded/postmaster-file';
import { migrate } from '../../src/database/start/migrate';
import { WAIT_LIMIT_MS } from './wait-for';
import { ADMINISTRATION, assertDisposable, TEMPLATE, withDatabase } from './test-database';

const PREFIX = 'waybill-test-';
/** Linux keeps this folder in memory: a copy of the template takes 10 ms there and 200 ms on a disk (600 files). */
const MEMORY_FOLDER = '/dev/shm';
const MEMORY_NEEDED_BYTES = 4 * 1024 ** 3;

/** Its data is needed only during the run, so nothing has to reach the disk. */
const THROW_AWAY = {
  initdbArguments: ['--no-sync'],
  settings: {
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    autovacuum_naptime: '10min',
    max_connections: '200',
    // The password is random, and thousands of connections are opened.
    scram_iterations: '1',
  },
};

/** A Postgres of one test run, in a temporary folder, if possible in memory. */
export class TestCluster {
  private constructor(
    private readonly dataDir: string,
    private readonly server: EmbeddedPostgres,
    private readonly pid: number | undefined,
  ) {}

  static async start(): Promise<TestCluster> {
    await removeAbandonedClusters();
    const dataDir = await mkdtemp(path.join(await chooseParent(), `${PREFIX}${process.pid}-`));
    // When run as root, the server runs as another user, which needs access to this folder.
    await chmod(dataDir, 0o711);
    const server = await startEmbeddedPostgres({ dataDir, ...THROW_AWAY }).catch(async (error: unknown) => {
      await removeFolders(dataDir);
      throw error;
    });
    const file = await readPostmasterFile(clusterPaths(server.folder).data);
    return new TestCluster(dataDir, server, file?.pid);
  }

  /** A database to create others from. */
  async createAdministrationDatabase(): Promise<string> {
    await execute(this.server.url, `CREATE DATABASE ${ADMINISTRATION}`);
    return withDatabase(this.server.url, ADMINISTRATION);
  }

  async stop(): Promise<void> {
    await this.server.stop({ evenIfInUse: true });
    await removeFolders(this.dataDir, this.server.folder);
  }

  /** Synchronous, for the exit of the process. */
  destroyNow(): void {
    if (this.pid !== undefined && isAlive(this.pid)) process.kill(this.pid, 'SIGQUIT');
    for (const folder of [this.dataDir, this.server.folder]) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    }
  }
}

/** Creates the template with all migrations applied; replaces an existing one. */
export async function createTemplate(administrationUrl: string): Promise<void> {
  assertDisposable(administrationUrl);
  await execute(administrationUrl, `DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
  await execute(administrationUrl, `CREATE DATABASE ${TEMPLATE}`);
  const dataSource = createDataSource(withDatabase(administrationUrl, TEMPLATE), {
    withoutTimeLimits: true,
    connectTimeoutMs: WAIT_LIMIT_MS,
  });
  await dataSource.initialize();
  try {
    await migrate(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Memory if there is plenty of it (a container's share is often 64 MB), else the temporary folder. */
async function chooseParent(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY_FOLDER).catch(() => ({ bavail: 0, bsize: 0 }));
  const isEnough = Math.min(bavail * bsize, os.freemem()) > MEMORY_NEEDED_BYTES;
  const isOpen = await access(MEMORY_FOLDER, constants.W_OK).then(
    () => true,
    () => false,
  );
  return isEnough && isOpen ? MEMORY_FOLDER : os.tmpdir();
}

/** Removes the folders of killed runs; the process id is in the folder's name. */
async function removeAbandonedClusters(): Promise<void> {
  for (const parent of [MEMORY_FOLDER, os.tmpdir()]) {
    for (const name of await readdir(parent).catch(() => [])) {
      const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
      if (pid > 0 && !isAlive(pid)) await removeCluster(path.join(parent, name)).catch(() => undefined);
    }
  }
}

async function removeCluster(dataDir: string): Promise<void> {
  const folder = await findClusterFolder(dataDir).catch(() => undefined);
  const runs = folder !== undefined && (await attachEmbeddedPostgres(dataDir)) !== undefined;
  if (runs) await (await startEmbeddedPostgres({ dataDir })).stop({ evenIfInUse: true });
  await removeFolders(dataDir, folder ?? dataDir);
}

async function removeFolders(...folders: string[]): Promise<void> {
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
