import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { POISON_MARK } from '../plan/traffic.mjs';
import { Member } from './member.mjs';

/** Far above the reachable rate, so that requests are counted against limits but never refused. */
const NO_LIMITS = JSON.stringify({ send: 1e9, batch: 1e9, reads: 1e9, writes: 1e9, organization: 1e9 });
/** Shorter than the default, so that a run can end while a server is silent. */
const DRAIN_SECONDS = 20;

/** Every process of the product in a run. Each worker has a data directory of its own, as on a machine of its own. */
export class Fleet {
  members = new Map();

  /** The product's configuration, except values that differ between processes. The caller's environment is not used. */
  static environment({ folder, databaseUrl, plan, smtpPort, dnsServer }) {
    const { PATH, HOME, TMPDIR, LANG } = process.env;
    const inherited = Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR, LANG }).filter(([, value]) => value));
    return {
      ...inherited,
      DATABASE_URL: databaseUrl,
      MASTER_KEY: randomBytes(32).toString('base64'),
      WAYBILL_DATA_DIR: path.join(folder, 'service'),
      HOST: '127.0.0.1',
      PORT: '0',
      METRICS_PORT: '0',
      MAIL_HOST: 'mail.chaos.test',
      DELIVERY_MODE: 'direct',
      SMTP_PORT: String(smtpPort),
      DNS_SERVERS: dnsServer,
      ALLOW_PRIVATE_DESTINATIONS: 'true',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      RATE_LIMITS: NO_LIMITS,
      WARMUP_ENABLED: 'false',
      LEASE_SECONDS: String(plan.leaseSeconds),
      DRAIN_SECONDS: String(DRAIN_SECONDS),
    };
  }

  async start({ folder, database, plan, environment, observer, release }) {
    const clock = plan.faults.find(({ kind }) => kind === 'clock');
    const preload = { CHAOS_POISON_MARK: POISON_MARK, CHAOS_CLOCK_OFFSET_MS: String(clock?.offsetMs ?? 0) };
    const roles = [...plan.apis.map((name) => [name, 'api']), ...plan.workers.map((name) => [name, 'worker'])];
    await Promise.all(
      roles.map(async ([name, role]) => {
        const dataDir = path.join(folder, name);
        await mkdir(dataDir);
        const env = { ...environment, ...preload, WAYBILL_DATA_DIR: dataDir };
        const member = new Member({ name, roles: role, folder, database, env, observer, release });
        this.members.set(name, member);
        await member.start();
      }),
    );
  }

  get(name) {
    return this.members.get(name);
  }

  /** Ports of the APIs that are ready. */
  get apiPorts() {
    return [...this.members.values()].filter(({ isWorker, port }) => !isWorker && port).map(({ port }) => port);
  }

  /** In good order; returns the exit code by name, also of those that were replaced. */
  async stop() {
    const stopped = [...this.members].map(async ([name, member]) => [name, await member.stop()]);
    const replaced = [...this.members.values()].flatMap(({ replaced }) => replaced);
    return Object.fromEntries([...replaced, ...(await Promise.all(stopped))]);
  }
}
