import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { ToxicProxy } from '../network/toxic-proxy.mjs';
import { say } from '../say.mjs';

const PRELOAD = path.join(import.meta.dirname, 'preload.cjs');
/** The time that a supervisor waits before it starts a dead process again. */
const RESTART_MS = 500;
const DOWN_POLL_MS = 20;
/** A start takes two seconds, and a minute beside twenty other processes. */
const READY_LIMIT_MS = 240_000;
/** On a slow machine a start takes as long as the plan has for a release: each has this time at least. */
const AT_WORK_MS = 10_000;

/**
 * One process of the product under a supervisor: started again whenever it ends. Each life has a number, and workers greet
 * with it (`worker-1-3.mail.chaos.test`), so that the sink can record which process sent a copy.
 */
export class Member {
  #child;
  #life = 0;
  #isStopping = false;
  #log;
  #ready;
  #options;

  /** Exit codes of processes that another release has replaced, by their names. */
  replaced = [];

  /**
   * @param options `{name, roles, folder, database, env, observer, release}`; the observer's `died(life, isStopping)`,
   *   `ending(life)`, `lostLease(life)` and `started(life, port, release)` are called.
   */
  constructor(options) {
    this.#options = options;
    this.name = options.name;
    this.isWorker = options.roles.includes('worker');
    this.#log = createWriteStream(path.join(options.folder, `${options.name}.log`));
    /** Between it and the database. */
    this.link = new ToxicProxy(options.database.address);
  }

  /** Resolves when it is ready for the first time. */
  async start() {
    await this.link.listen();
    this.#launch();
    await this.#ready;
  }

  get pid() {
    return this.#child?.pid;
  }

  get isDown() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Of the API; undefined while it is not ready. */
  port;

  /** Who it is now: `{name, life, pid, client}`, `client` being its name in EHLO. */
  get life() {
    const client = `${this.name}-${this.#life}.mail.chaos.test`;
    return { name: this.name, life: this.#life, pid: this.pid, client };
  }

  /** Ends and replacements of it, one after the other, in the order of the plan however long each takes. */
  inTurn(change) {
    const turn = this.#changes.then(change);
    this.#changes = turn.catch(() => undefined);
    return turn;
  }

  #changes = Promise.resolve();

  /** Ends it in good order, and starts another release in its place. Resolves when that has been at work for a while. */
  replace(release) {
    return this.inTurn(async () => {
      await this.isUp();
      await this.#ready;
      this.#isStopping = true;
      const { client } = this.life;
      this.#options.observer.ending(this.life);
      this.#child.kill('SIGTERM');
      this.replaced.push([client, await this.#exit]);
      this.#options = { ...this.#options, release };
      this.#isStopping = false;
      this.#launch();
      await this.#ready;
      await delay(AT_WORK_MS);
    });
  }

  /** Resolves when there is a process: one that was killed comes back. */
  async isUp() {
    while (this.isDown) await delay(DOWN_POLL_MS);
  }

  /** Resolves when it is dead. */
  async kill() {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  signal(name) {
    this.#child.kill(name);
  }

  /** Ends it in good order, and returns its exit code. */
  async stop() {
    this.#isStopping = true;
    this.#options.observer.ending(this.life);
    this.#child?.kill('SIGCONT');
    this.#child?.kill('SIGTERM');
    const code = await this.#exit;
    await this.link.stop();
    this.#log.end();
    return code;
  }

  #exit;

  #launch() {
    this.#life += 1;
    const { roles, env, database, observer, release } = this.#options;
    const url = new URL(database.url);
    url.port = String(this.link.port);
    const settings = { ...env, WAYBILL_ROLES: roles, DATABASE_URL: url.href, MAIL_HOST: this.life.client };
    const preload = this.isWorker ? ['--require', PRELOAD] : [];
    const args = [...process.execArgv, ...preload, path.join(release.dist, 'main.js')];
    const child = spawn(process.execPath, args, { env: settings, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    const { life } = this;
    this.#ready = this.#read(child, life);
    // Only the first start is waited for: a later one that fails shows in the ledgers.
    this.#ready.catch(() => undefined);
    this.#exit = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
    child.once('exit', () => {
      this.port = undefined;
      // Without what it held, copies of that mail count as unexplained: the run goes on, and fails for them.
      observer
        .died(life, this.#isStopping)
        .catch((error) => say(`What ${life.client} held is unknown: ${error.message}`));
      if (!this.#isStopping) void delay(RESTART_MS).then(() => this.#isStopping || this.#launch());
    });
  }

  #read(child, life) {
    child.stderr.on('data', (chunk) => this.#log.write(chunk));
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`${this.name} did not become ready`)), READY_LIMIT_MS);
      child.once('exit', () => {
        clearTimeout(limit);
        reject(new Error(`${life.client} ended before it was ready`));
      });
      createInterface({ input: child.stdout }).on('line', (line) => {
        this.#log.write(`${line}\n`);
        if (line.includes('has lost its lease')) this.#options.observer.lostLease(life);
        if (this.#child !== child || !line.includes('"msg":"ready"')) return;
        clearTimeout(limit);
        this.port = JSON.parse(line).port;
        this.#options.observer.started(life, this.port, this.#options.release);
        resolve();
      });
    });
  }
}
