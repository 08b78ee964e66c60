import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { load } from '../../bench/harness/product.mjs';

const { startEmbeddedPostgres } = load('./database/embedded/embedded-postgres.js');
const { clusterPaths } = load('./database/embedded/cluster-location.js');
const { isAlive, readPostmasterFile } = load('./database/embedded/postmaster-file.js');

const POLL_MS = 20;
const RETRY_MS = 200;
const QUERY_LIMIT_MS = 30_000;

/** What time limits, lost connections and statements after them say. Anything else is a statement that the service should not have sent. */
const EXPECTED_ERROR = /canceling statement due to|terminating connection|current transaction is aborted/;

/** A Postgres of its own with production settings, that can be killed and started again. */
export class Database {
  #dataDir;
  #server;
  #client;

  /** @param dataDir where the cluster is made */
  static async start(dataDir) {
    const database = new Database();
    database.#dataDir = dataDir;
    database.#server = await startEmbeddedPostgres({ dataDir });
    database.url = database.#server.url;
    return database;
  }

  get address() {
    return { host: '127.0.0.1', port: Number(new URL(this.url).port) };
  }

  /** Immediate mode: every backend ends at once, and the next start recovers from the log. */
  async restart() {
    const { pid } = await readPostmasterFile(clusterPaths(this.#server.folder).data);
    process.kill(pid, 'SIGQUIT');
    while (isAlive(pid)) await delay(POLL_MS);
    this.#server = await startEmbeddedPostgres({ dataDir: this.#dataDir, port: this.address.port });
  }

  /** Rows of a query beside the service, not through a proxy; tries again while the database is down. */
  async rows(text, values = []) {
    const until = performance.now() + QUERY_LIMIT_MS;
    for (;;) {
      try {
        return (await (await this.#connection()).query(text, values)).rows;
      } catch (error) {
        this.#client = undefined;
        // A mistake in the statement itself (class 42) does not pass.
        if (error.code?.startsWith('42') || performance.now() > until) throw error;
        await delay(RETRY_MS);
      }
    }
  }

  /** Errors of statements from its log, other than those that faults cause. */
  async statementErrors() {
    const lines = (await readFile(clusterPaths(this.#server.folder).log, 'utf8')).split('\n');
    return lines.filter((line) => line.includes(' ERROR:  ') && !EXPECTED_ERROR.test(line));
  }

  async #connection() {
    if (this.#client) return this.#client;
    const client = new pg.Client({ connectionString: this.url, application_name: 'chaos' });
    client.on('error', () => {
      if (this.#client === client) this.#client = undefined;
    });
    await client.connect();
    this.#client = client;
    return client;
  }

  /** Where its files lie: the data directory, or a folder elsewhere when that is closed to the server's user. */
  get folder() {
    return this.#server.folder;
  }

  async stop() {
    await this.#client?.end().catch(() => undefined);
    await this.#server?.stop({ evenIfInUse: true });
  }
}
