// The effect of other tenants on a quiet tenant: how long its mails take alone, beside a tenant with a deep queue, and beside
// one whose mail all goes to tarpits. See docs/benchmarks.md.
import { setTimeout as delay } from 'node:timers/promises';
import { Bench } from './harness/bench.mjs';
import { DirectInserts } from './harness/direct-inserts.mjs';
import { emailBody } from './harness/mail.mjs';
import { load } from './harness/product.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';
import { parseRun } from './harness/settings.mjs';

const USAGE = `npm run bench:fairness -- [--rounds N] [--seconds S]

  --rounds   rounds of the three situations in turn, by default 3
  --seconds  how long the quiet tenant sends in each, by default 12
  --dist     the dist/ of another build, by default this one
`;
/** Mails of the quiet tenant, a second. */
const QUIET_RATE = 25;
const PROMPT = 20;
const TARPITS = 30;
/** More than a worker delivers within one situation. */
const NOISY_PER_SECOND = 3_000;
const PER_TARPIT = 40;
const INSERTED_AT_ONCE = 100;
/** For the worker to have started, and the other tenant's mail to be under way, before the quiet tenant's figures count. */
const WARM_UP_MS = 3_000;
/** Mails of the quiet tenant that do not count: the first of a new process takes 200 to 450 ms, as code and plans are cold. */
const COLD = 2 * QUIET_RATE;

const { formatCall } = load('./delivery/queue/work-call.js');

/** Makes every recipient another one. */
let sequence = 0;

const settings = parseRun(USAGE, { seconds: 12 });
if (settings) await run(settings);

async function run({ rounds, seconds, dist }) {
  const bench = new Bench({ dist });
  try {
    await bench.open();
    const scene = await openScene(bench);
    const situations = {
      alone: () => [],
      'beside a deep queue': () => recipients('noisy', seconds * NOISY_PER_SECOND, promptDomain),
      [`beside ${TARPITS} tarpits`]: () => recipients('stuck', TARPITS * PER_TARPIT, tarpitDomain),
    };
    const latencies = Object.fromEntries(Object.keys(situations).map((name) => [name, []]));
    await measure(scene, [], 2);
    for (let round = 1; round <= rounds; round += 1) {
      for (const [name, others] of Object.entries(situations)) {
        const taken = await measure(scene, others(), seconds);
        latencies[name].push(taken);
        say(`round ${round}, ${name}: p50 ${at(taken, 0.5).toFixed(1)} ms, p99 ${at(taken, 0.99).toFixed(1)} ms`);
      }
    }
    for (const fact of await bench.facts()) process.stdout.write(`${fact}\n`);
    report(latencies);
    await scene.close();
  } finally {
    await bench.close();
  }
}

async function openScene(bench) {
  const domains = [
    ...Array.from({ length: PROMPT }, (_, index) => ({
      domain: promptDomain(index),
      address: `127.30.0.${index + 1}`,
      kind: 'prompt',
    })),
    ...Array.from({ length: TARPITS }, (_, index) => ({
      domain: tarpitDomain(index),
      address: `127.31.0.${index + 1}`,
      kind: 'tarpit',
    })),
  ];
  const receivers = await bench.startHelper('receivers', { domains });
  const { port, dnsServer } = receivers.started;
  const noisyTenant = await bench.addTenant('noisy');
  const direct = {
    DELIVERY_MODE: 'direct',
    SMTP_PORT: String(port),
    DNS_SERVERS: dnsServer,
    ALLOW_PRIVATE_DESTINATIONS: 'true',
  };
  const inserts = (tenant) => new DirectInserts({ url: bench.databaseUrl, connections: 2, tenant });
  const [quiet, noisy] = [inserts(bench.tenant), inserts(noisyTenant)];
  const worker = () => bench.startProduct('worker', direct);
  const close = () => Promise.all([quiet.close(), noisy.close()]);
  return { database: bench.database, receivers, quiet, noisy, worker, close };
}

/** Milliseconds from the commit to the final dot, of each mail of the quiet tenant. A worker of its own for each situation. */
async function measure({ database, receivers, quiet, noisy, worker }, others, seconds) {
  await receivers.call('relax', { isOn: false });
  await insertAll(noisy, others);
  const process = await worker();
  await delay(WARM_UP_MS);
  const mine = recipients('quiet', COLD + seconds * QUIET_RATE, promptDomain);
  const [command] = quiet.parse([emailBody(0)]);
  const call = { count: 1, organizationIds: new Set([quiet.tenant.organizationId]) };
  const acceptedAt = [];
  for (const recipient of mine) {
    const begin = performance.now();
    await quiet.insert([addressed(quiet, command, recipient)], { enqueue: true });
    acceptedAt.push(performance.timeOrigin + performance.now());
    await database.query(`select pg_notify('waybill_work', $1)`, [formatCall(call, Math.random())]);
    await delay(Math.max(0, 1_000 / QUIET_RATE - (performance.now() - begin)));
  }
  const arrivedAt = await receivers.call('waitFor', { recipients: mine });
  await receivers.call('relax', { isOn: true });
  await process.stop();
  await database.query('truncate deliveries');
  return arrivedAt.map((at, index) => at - acceptedAt[index]).slice(COLD);
}

async function insertAll(inserts, all) {
  const commands = inserts.parse([{ ...emailBody(0), from: 'Shop <orders@noisy.test>' }]);
  for (let at = 0; at < all.length; at += INSERTED_AT_ONCE) {
    const some = all.slice(at, at + INSERTED_AT_ONCE);
    await inserts.insert(
      some.map((recipient) => addressed(inserts, commands[0], recipient)),
      { enqueue: true },
    );
  }
}

function addressed(inserts, command, recipient) {
  const [email] = inserts.toEmails([command]);
  return { ...email, recipients: [{ ...command.request.recipients[0], email: recipient }] };
}

function recipients(prefix, count, domainOf) {
  return Array.from({ length: count }, (_, index) => `${prefix}${(sequence += 1)}@${domainOf(index)}`);
}

function promptDomain(index) {
  return `receiver${index % PROMPT}.test`;
}

function tarpitDomain(index) {
  return `tarpit${index % TARPITS}.test`;
}

function at(values, share) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

function report(latencies) {
  const [alone] = Object.values(latencies);
  for (const [name, rounds] of Object.entries(latencies)) {
    const p99 = rounds.map((taken) => at(taken, 0.99));
    const ratio = median(p99.map((value, round) => value / at(alone[round], 0.99)));
    const p50 = median(rounds.map((taken) => at(taken, 0.5)));
    process.stdout.write(
      `${name.padEnd(24)} p50 ${p50.toFixed(1).padStart(8)} ms, p99 ${median(p99).toFixed(1).padStart(8)} ms, × ${ratio.toFixed(2)}\n`,
    );
  }
}
