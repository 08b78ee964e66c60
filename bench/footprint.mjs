// The memory of one process for all roles with its Postgres under load, and the bytes that an email leaves: in tables and their
// indexes, and in the write-ahead log. See docs/benchmarks.md.
import { setTimeout as delay } from 'node:timers/promises';
import { Bench } from './harness/bench.mjs';
import { emailBody } from './harness/mail.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';
import { parseRun } from './harness/settings.mjs';
import { administrator } from './harness/statements.mjs';
import { memoryOfTree } from './harness/usage.mjs';

const USAGE = `npm run bench:footprint -- [--rounds N] [--seconds S] [--dist FOLDER]

  --rounds   of load, each with a new process and a new database, by default 3
  --seconds  length of one run, by default 20
  --dist     the dist/ of another build, by default this one
`;
const ROLES = 'api,worker,inbound,dns,submission';
/** Any free port for each listener. */
const PORTS = { INBOUND_SMTP_PORT: '0', SUBMISSION_PORT: '0', SUBMISSIONS_PORT: '0', DNS_PORT: '0' };
const CONNECTIONS = 50;
const BODIES = 1_000;
const SAMPLE_MS = 500;
/** The log without images of whole pages: how many of those a mail takes depends on the time between checkpoints alone. */
const POSTGRES = { full_page_writes: 'off' };
const TABLES = ['email_contents', 'email_events', 'emails', 'email_recipients'];
const WANTED = { memory: 350, stored: 3, log: 4.5 };

const settings = parseRun(USAGE, { seconds: 20 });
if (settings) await run(settings);

async function run({ rounds, seconds, dist }) {
  const results = [];
  for (let round = 1; round <= rounds; round += 1) {
    results.push(await measure(seconds, dist));
    say(`round ${round}: ${JSON.stringify(results.at(-1).memory)}`);
  }
  report(results);
}

async function measure(seconds, dist) {
  const bench = new Bench({ dist, settings: POSTGRES });
  const giveUp = () => bench.close().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, giveUp);
  try {
    await bench.open();
    return await load(bench, seconds);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, giveUp);
    await bench.close();
  }
}

async function load(bench, seconds) {
  const sink = await bench.startHelper('smtp-sink');
  const relay = { DELIVERY_MODE: 'relay', RELAY_URL: `smtp://127.0.0.1:${sink.started.port}` };
  const service = await bench.startProduct(ROLES, { ...PORTS, ...relay });
  const http = await bench.startHelper('http-load');
  const bodies = Array.from({ length: BODIES }, (_, index) => JSON.stringify(emailBody(index)));
  const target = { port: service.port, path: '/v1/emails', key: bench.tenant.key, bodies, connections: CONNECTIONS };
  // Data that exists once (the first pages of tables, the plans of statements) does not count for a mail.
  await http.call('run', { ...target, seconds: 2 });
  await emptyQueue(bench.database);

  const pool = administrator(bench.databaseUrl);
  try {
    const before = await footprint(pool);
    const peak = { service: 0, postgres: 0, all: 0 };
    const sampler = setInterval(() => {
      const [own, postgres] = [service.pid, bench.postgresPid].map(memoryOfTree);
      if (own + postgres > peak.all) Object.assign(peak, { service: own, postgres, all: own + postgres });
    }, SAMPLE_MS);
    const { count } = await http.call('run', { ...target, seconds });
    await emptyQueue(bench.database);
    clearInterval(sampler);
    const after = await footprint(pool);
    const perMail = Object.fromEntries(Object.keys(after).map((name) => [name, (after[name] - before[name]) / count]));
    return { count, memory: peak, perMail };
  } finally {
    await pool.end();
  }
}

/** Bytes of each table with its partitions and indexes, and of the log so far. */
async function footprint(pool) {
  const { rows } = await pool.query(
    `select t.name, sum(pg_total_relation_size(p.relid))::float8 as bytes
     from unnest($1::text[]) t(name), pg_partition_tree(t.name::regclass) p
     where p.isleaf
     group by t.name
     union all
     select 'log', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8`,
    [TABLES],
  );
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}

async function emptyQueue(database) {
  for (;;) {
    const { rows } = await database.query('select exists (select from deliveries) as open');
    if (!rows[0].open) return;
    await delay(20);
  }
}

function report(results) {
  const middle = (value) => median(results.map(value));
  const range = (value) =>
    `${Math.min(...results.map(value)).toFixed(0)}–${Math.max(...results.map(value)).toFixed(0)}`;
  const all = ({ memory }) => memory.all;
  const line = (name, value) => process.stdout.write(`${name.padEnd(34)}${value}\n`);
  const verdict = (value, wanted) => (value <= wanted ? 'met' : 'missed');
  line('mails in one run', middle(({ count }) => count).toFixed(0));
  const memory = `${middle(all).toFixed(0)} MB (${range(all)})`;
  line('memory of all processes, PSS', `${memory}, wanted ${WANTED.memory}: ${verdict(middle(all), WANTED.memory)}`);
  line('  of them the service', `${middle(({ memory }) => memory.service).toFixed(0)} MB`);
  const bytes = (name) => middle(({ perMail }) => perMail[name]);
  for (const table of TABLES) line(`  ${table} with its indexes`, `${bytes(table).toFixed(0)} B a mail`);
  const stored = TABLES.reduce((sum, name) => sum + bytes(name), 0) / 1_000;
  const log = bytes('log') / 1_000;
  line('stored', `${stored.toFixed(2)} KB a mail, wanted ${WANTED.stored}: ${verdict(stored, WANTED.stored)}`);
  line('write-ahead log', `${log.toFixed(2)} KB a mail, wanted ${WANTED.log}: ${verdict(log, WANTED.log)}`);
}
