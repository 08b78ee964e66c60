import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { clusterPaths } from '../../../src/database/embedded/cluster-location';
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from '../../../src/database/embedded/embedded-postgres';
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres';
import type { PostmasterFile } from '../../../src/database/embedded/postmaster-file';
import { readPostmasterFile } from '../../../src/database/embedded/postmaster-file';

/** Data directories, servers and processes of one spec file, all gone after `cleanUp`. */
export class EmbeddedWorkshop {
  private readonly folders = new Set<string>();
  private readonly handles: EmbeddedPostgres[] = [];
  private readonly children: EmbeddedChild[] = [];

  /** A folder that any user can pass through, and a data directory in it that does not exist yet. */
  async newDataDir(): Promise<string> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'waybill-embedded-'));
    await chmod(folder, 0o711);
    this.folders.add(folder);
    return path.join(folder, 'data dir');
  }

  removeLater(folder: string): void {
    this.folders.add(folder);
  }

  /** Starts or attaches, without waiting for the disk. */
  async start(dataDir: string, options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
    const server = await startEmbeddedPostgres({
      dataDir,
      initdbArguments: ['--no-sync'],
      settings: { fsync: 'off' },
      ...options,
    });
    this.handles.push(server);
    this.folders.add(server.folder);
    return server;
  }

  /** A process group of its own with the embedded server in use, as a service started from a shell. */
  spawnService(dataDir: string): EmbeddedChild {
    const child = new EmbeddedChild(dataDir);
    this.children.push(child);
    return child;
  }

  async stopServers(): Promise<void> {
    for (const child of this.children) await child.kill();
    // A second handle of the same server finds it stopped already, or its files removed.
    for (const handle of this.handles) await handle.stop({ evenIfInUse: true }).catch(() => undefined);
    this.handles.length = 0;
    this.children.length = 0;
  }

  async cleanUp(): Promise<void> {
    await this.stopServers();
    for (const folder of this.folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    this.folders.clear();
  }
}

/** `child.cjs` in a process group of its own. */
export class EmbeddedChild {
  readonly process: ChildProcess;
  private readonly lines: AsyncIterator<string>;
  private errors = '';

  constructor(dataDir: string) {
    this.process = spawn(process.execPath, [path.join(__dirname, 'child.cjs'), dataDir], { detached: true });
    const { stdout, stderr } = this.process;
    if (!stdout || !stderr) throw new Error('the child has no output');
    stderr.on('data', (part: Buffer) => (this.errors += part.toString()));
    this.lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  /** The next thing it says. */
  async next<T>(): Promise<T> {
    const { done, value } = await this.lines.next();
    if (done) throw new Error(`the child ended: ${this.errors}`);
    return JSON.parse(value) as T;
  }

  /** As the terminal does on Ctrl-C: to every process of the group. */
  interruptGroup(): void {
    if (this.process.pid !== undefined) process.kill(-this.process.pid, 'SIGINT');
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await ended;
  }
}

export async function query<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(statement)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** What the running server says about itself. */
export async function postmasterOf({ folder }: { folder: string }): Promise<PostmasterFile> {
  const file = await readPostmasterFile(clusterPaths(folder).data);
  if (!file) throw new Error(`no server runs in ${folder}`);
  return file;
}
