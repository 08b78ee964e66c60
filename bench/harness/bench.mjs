import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startHelper, startProduct } from './child.mjs';
import { DIST, load, ROOT } from './product.mjs';
import { addTenant, provision } from './provision.mjs';
import { RECYCLING, recycleLog } from './recycled-log.mjs';
import { say } from './say.mjs';
import { administrator, STATEMENT_SETTINGS, StatementTimes } from './statements.mjs';

/** Far above the reachable rate, so that requests are counted against limits but never refused. */
const NO_LIMITS = JSON.stringify({ send: 1e9, batch: 1e9, organization: 1e9 });

/**
 * The environment of every figure: a database of its own with production settings, an organization with a verified domain
 * and a key, and methods that start processes. `close` ends and removes everything that has been started so far.
 */
export class Bench {
  #folder;
  #server;
  #environment;
  #running = [];
  #settings;
  #opening;
  #closing;

  /**
   * @param dist the build whose processes are started
   * @param settings of Postgres, beside those that the embedded one always has
   */
  constructor({ profile, dist = DIST, settings = {} }) {
    this.profile = profile;
    this.dist = dist;
    this.#settings = settings;
  }

  open() {
    this.#opening = this.#open();
    return this.#opening;
  }

  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A process of the product: `{pid, port, stop()}`. */
  startProduct(roles, env = {}) {
    const main = path.join(this.dist, 'main.js');
    const settings = { ...this.#environment, ...env, WAYBILL_ROLES: roles };
    return this.#keep(startProduct({ main, logFile: this.#logFile(roles), env: settings, profile: this.profile }));
  }

  /** A process of `bench/processes`: `{pid, started, call(name, details), stop()}`. */
  startHelper(name, options = {}) {
    const file = path.join(ROOT, 'bench/processes', `${name}.mjs`);
    const all = { ...options, environment: this.#environment };
    const started = { file, logFile: this.#logFile(name), options: all, profile: this.profile };
    return this.#keep(startHelper(started));
  }

  /** Another tenant beside `tenant`, by default with a key that sends and reads. */
  addTenant(name, scopes) {
    return addTenant(this.#environment, this.databaseUrl, name, scopes);
  }

  /** Clears the queue and vacuums, so that the work an earlier figure left does not count in the next one. */
  async settle() {
    await this.database.query('truncate deliveries');
    await this.database.query('vacuum analyze');
  }

  /** Writes changed pages out, which would otherwise happen during the next measurement. */
  async checkpoint() {
    const pool = administrator(this.databaseUrl);
    await pool.query('checkpoint').finally(() => pool.end());
  }

  /** Facts about the machine and the settings that a reader needs to compare figures. */
  async facts() {
    const names = ['fsync', 'full_page_writes', 'synchronous_commit', 'shared_buffers', 'max_wal_size'];
    const values = names.map((name) => `current_setting('${name}') as ${name}`);
    const { rows } = await this.database.query(`select version(), ${values.join(', ')}`);
    const [{ version, ...settings }] = rows;
    const memoryGigabytes = Math.round(os.totalmem() / 2 ** 30);
    return [
      `${os.cpus()[0]?.model.trim()}, ${os.availableParallelism()} cores, ${memoryGigabytes} GB, ${os.type()}`,
      `Node ${process.versions.node}, ${version.split(' ', 2).join(' ')}`,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    ];
  }

  async #open() {
    this.#folder = await mkdtemp(path.join(os.tmpdir(), 'waybill-bench-'));
    // When run as root, the server runs as another user, which needs access to this folder.
    await chmod(this.#folder, 0o711);
    say('starting a Postgres of its own');
    const { startEmbeddedPostgres } = load('./database/embedded/embedded-postgres.js');
    const settings = { ...RECYCLING, ...(this.profile && STATEMENT_SETTINGS), ...this.#settings };
    this.#server = await startEmbeddedPostgres({ dataDir: this.#folder, settings });
    this.databaseUrl = this.#server.url;
    await recycleLog(this.databaseUrl);
    this.#environment = environmentFor(this.databaseUrl, this.#folder);
    this.postgresPid = await postmasterPid(this.#server.folder);
    this.tenant = await provision(this.#environment, this.databaseUrl);
    this.database = new pg.Pool({ connectionString: this.databaseUrl, max: 4 });
    this.database.on('error', () => undefined);
    this.#running.push({ stop: () => this.database.end() });
    if (!this.profile) return;
    this.statements = new StatementTimes(this.databaseUrl);
    this.#running.push({ stop: () => this.statements.close() });
  }

  async #close() {
    await this.#opening?.catch(() => undefined);
    for (const process of this.#running.splice(0)) await process.stop();
    await this.#server?.stop({ evenIfInUse: true });
    const folders = [this.#folder, this.#server?.folder].filter((folder) => folder !== undefined);
    for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #keep(starting) {
    const started = await starting;
    this.#running.push(started);
    return started;
  }

  #logFile(name) {
    return path.join(this.#folder, `${name}.log`);
  }
}

function environmentFor(databaseUrl, folder) {
  return {
    DATABASE_URL: databaseUrl,
    WAYBILL_DATA_DIR: path.join(folder, 'service'),
    MASTER_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    MAIL_HOST: 'mail.bench.test',
    RATE_LIMITS: NO_LIMITS,
    WARMUP_ENABLED: 'false',
  };
}

async function postmasterPid(folder) {
  const { clusterPaths } = load('./database/embedded/cluster-location.js');
  const { readPostmasterFile } = load('./database/embedded/postmaster-file.js');
  return (await readPostmasterFile(clusterPaths(folder).data))?.pid;
}
