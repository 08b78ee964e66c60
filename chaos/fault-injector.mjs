import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { say } from './say.mjs';

const LATENCY_MS = 150;
/** How long a kill waits for a final dot. */
const DOT_LIMIT_MS = 3_000;
const CUT_BYTES = 2_000;
/** A worker's claims are queried after its death, when they no longer change. */
const HELD = `
  select d.recipient from deliveries d join worker_sessions s on s.id = d.session_id
  where d.state = 'claimed' and s.process_id = $1`;

/** Carries out the faults of a plan at their time, and records the affected processes. */
export class FaultInjector {
  #fleet;
  #database;
  #sink;
  #log;
  #leaseSeconds;
  #releases;
  #releaseLog;
  #environment;
  /** Those killed by the plan: any other death is a crash. */
  #killed = new Set();

  constructor({ fleet, database, sink, log, plan, releases, releaseLog, environment }) {
    this.#fleet = fleet;
    this.#database = database;
    this.#sink = sink;
    this.#log = log;
    this.#leaseSeconds = plan.leaseSeconds;
    this.#releases = releases;
    this.#releaseLog = releaseLog;
    this.#environment = environment;
  }

  /** Resolves when all of them are over. */
  async run(faults, startedAt) {
    const at = (seconds) => delay(Math.max(0, startedAt + seconds * 1_000 - performance.now()));
    await Promise.all(
      faults.map(async (fault) => {
        await at(fault.at);
        say(describe(fault));
        await this.#carryOut(fault, () => at(fault.until));
      }),
    );
  }

  /** Must be called when a worker logs that its lease has ended while it lived. */
  lostLease(life) {
    say(`${life.client} has lost its lease`);
    this.#log.begin('lost lease', life, performance.now() - this.#leaseSeconds * 1_000).until = performance.now();
  }

  /** To be called when a process is ready. */
  started(life, port, release) {
    this.#releaseLog.started(life, port, release === this.#releases.old ? 'old' : 'new');
    if (isWorker(life)) this.#log.workerReady(life);
  }

  /** To be called before a process gets SIGTERM. */
  ending(life) {
    this.#log.workerGone(life);
  }

  /** To be called at the end of any process. */
  async died(life, isStopping) {
    this.#log.workerGone(life);
    const isPlanned = this.#killed.delete(life.client);
    if (isStopping) return;
    if (!isPlanned) say(`${life.client} has ended by itself`);
    const disturbance = this.#log.begin(isPlanned ? 'kill' : 'crash', life);
    if (!isWorker(life)) return;
    const held = await this.#database.rows(HELD, [life.pid]);
    this.#log.orphaned(
      disturbance,
      held.map(({ recipient }) => recipient),
    );
  }

  #carryOut(fault, over) {
    switch (fault.kind) {
      case 'kill':
        return this.#kill(this.#fleet.get(fault.target), fault.atDot);
      case 'restart':
        return this.#restart();
      case 'stop':
        return this.#during(
          fault,
          over,
          (member) => member.signal('SIGSTOP'),
          (member) => member.signal('SIGCONT'),
        );
      case 'clock':
        return this.#during(
          fault,
          over,
          (member) => member.signal('SIGUSR2'),
          (member) => member.signal('SIGUSR2'),
        );
      case 'partition':
        return this.#during(fault, over, cutOff, heal);
      case 'link':
        return this.#harmLink(fault, over);
      case 'hole':
        return this.#swallow(fault, over);
      case 'migrate':
        return this.#migrate();
      case 'release':
        return this.#fleet.get(fault.target).replace(this.#releases[fault.to]);
      default:
        throw new Error(`No such fault: ${fault.kind}`);
    }
  }

  /** A process that is being started again is killed once it is up. */
  #kill(member, atDot) {
    return member.inTurn(async () => {
      await member.isUp();
      if (atDot) await Promise.race([this.#log.sink.nextDot(member.life.client), delay(DOT_LIMIT_MS)]);
      this.#killed.add(member.life.client);
      await member.kill();
    });
  }

  /** Migrates as an operator does, while all processes work. */
  async #migrate() {
    const beganAt = performance.now();
    const command = [path.join(this.#releases.new.dist, 'cli/main.js'), 'migrate', '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, command, { env: this.#environment });
    this.#releaseLog.migrated(JSON.parse(stdout).applied, performance.now() - beganAt);
    say(`migrated: ${stdout.replace(/\s+/g, ' ')}`);
  }

  async #restart() {
    const beganAt = performance.now();
    await this.#database.restart();
    this.#log.outage(beganAt, performance.now(), this.#leaseSeconds);
  }

  /** A process that was started again in the meantime has no fault to end. */
  async #during(fault, over, begin, end) {
    const member = this.#fleet.get(fault.target);
    await member.isUp();
    const { life } = member;
    const disturbance = this.#log.begin(fault.kind, life);
    begin(member);
    this.#log.workerGone(life);
    await over();
    const isSameLife = member.life.client === life.client;
    if (isSameLife || fault.kind === 'partition') end(member);
    if (isSameLife && isWorker(life) && !member.isDown) this.#log.workerReady(life);
    disturbance.until = performance.now();
  }

  async #harmLink({ target, toxic }, over) {
    const { link } = this.#fleet.get(target);
    // A partition of the same link is in effect.
    if (link.toxic) return;
    if (toxic === 'rst') return void link.reset();
    const harm = toxic === 'cut' ? { cutAfterBytes: CUT_BYTES } : { latencyMs: LATENCY_MS };
    link.toxic = harm;
    await over();
    if (link.toxic === harm) link.toxic = undefined;
  }

  async #swallow({ target }, over) {
    const proxy = this.#sink.proxyOf(target);
    proxy.toxic = { silenceNew: true };
    await over();
    proxy.toxic = undefined;
  }
}

function isWorker({ name }) {
  return name.startsWith('worker');
}

function cutOff({ link }) {
  link.toxic = { blackHole: true };
}

function heal({ link }) {
  link.toxic = undefined;
}

function describe({ kind, target, at, until, toxic, to }) {
  const time = until === undefined ? `${at.toFixed(1)} s` : `${at.toFixed(1)}–${until.toFixed(1)} s`;
  return `${time}: ${[kind, toxic, target, to].filter(Boolean).join(' ')}`;
}
