// Whether more processes cost more for each mail: api × worker processes 1, 2, 4 on one Postgres. See docs/scaling.md.
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import { emailBody } from './harness/mail.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';
import { cpuSecondsOf, cpuSecondsOfTree } from './harness/usage.mjs';

const USAGE = `npm run bench:scale -- [--seconds S] [--rounds N]

  --seconds  of requests for each process in one run, by default 10
  --rounds   runs of each number of processes, in turn, by default 3
`;
const PROCESSES = [1, 2, 4];
const PARTS = ['api', 'worker', 'postgres'];
const BODIES = 500;
/** To each api process: more processes get more load, and the size of a commit depends on the requests in progress. */
const CONNECTIONS = 48;
/** The most that 4 × 4 processes may cost, as a multiple of 1 × 1. */
const TARGET = 1.1;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) process.stdout.write(USAGE);
else await run(Number(options.seconds), Number(options.rounds));

async function run(seconds, rounds) {
  const bench = new Bench({ profile: undefined });
  const giveUp = () => bench.close().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, giveUp);
  try {
    await bench.open();
    const sink = await bench.startHelper('smtp-sink');
    const yardstick = await bench.startHelper('yardstick');
    const before = await sizes(bench.database);
    const results = new Map(PROCESSES.map((count) => [count, []]));
    let mails = 0;
    for (let round = 1; round <= rounds; round += 1) {
      for (const count of PROCESSES) {
        const result = await measure(bench, { sink, yardstick }, count, seconds);
        mails += result.mails;
        results.get(count).push(result);
        say(
          `round ${round}, ${count} × ${count}: ${Math.round(result.rate)} mails/s, ${result.cpu.toFixed(2)} CPU s per 1,000 ` +
            `(${PARTS.map((part) => `${part} ${result.parts[part].toFixed(3)}`).join(', ')}), ` +
            `yardstick ${result.unitMs.toFixed(2)} ms`,
        );
      }
    }
    report(results);
    reportSizes(before, await sizes(bench.database), mails);
  } finally {
    await bench.close();
  }
}

/** From the first request until the queue is empty, with processes of their own. */
async function measure(bench, { sink, yardstick }, count, seconds) {
  const relay = { DELIVERY_MODE: 'relay', RELAY_URL: `smtp://127.0.0.1:${sink.started.port}` };
  const [apis, workers, loads] = [[], [], []];
  for (let index = 0; index < count; index += 1) {
    apis.push(await bench.startProduct('api'));
    workers.push(await bench.startProduct('worker', relay));
    loads.push(await bench.startHelper('http-load'));
  }
  const sumOf = (processes) => processes.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
  const cpu = () => ({ api: sumOf(apis), worker: sumOf(workers), postgres: cpuSecondsOfTree(bench.postgresPid) });
  const bodies = Array.from({ length: BODIES }, (_, index) => JSON.stringify(emailBody(index)));
  const through = async (length) => {
    await sink.call('reset');
    const target = { path: '/v1/emails', key: bench.tenant.key, bodies, connections: CONNECTIONS };
    const sent = await Promise.all(
      loads.map((load, at) => load.call('run', { ...target, port: apis[at].port, seconds: length })),
    );
    const mails = sent.reduce((sum, one) => sum + one.count, 0);
    await sink.call('waitFor', { count: mails });
    await emptyQueue(bench.database);
    return mails;
  };
  // Each process compiles new code during its first thousands of mails: each has the
  // same number of mails before and while it is measured, however many share the machine.
  await through(seconds * count);
  await yardstick.call('begin');
  const [began, used] = [performance.now(), cpu()];
  const mails = await through(seconds * count);
  const rate = mails / ((performance.now() - began) / 1_000);
  const now = cpu();
  const { ms: unitMs } = await yardstick.call('end');
  const parts = Object.fromEntries(PARTS.map((part) => [part, ((now[part] - used[part]) / mails) * 1_000]));
  for (const child of [...loads, ...workers, ...apis]) await child.stop();
  return { mails, rate, parts, unitMs, cpu: PARTS.reduce((sum, part) => sum + parts[part], 0) };
}

async function emptyQueue(database) {
  for (;;) {
    const { rows } = await database.query('select exists (select from deliveries) as open');
    if (!rows[0].open) return;
    await delay(2);
  }
}

function report(results) {
  const middle = (count, of) => median(results.get(count).map(of));
  const units = (count) => middle(count, ({ cpu, unitMs }) => cpu / unitMs);
  process.stdout.write('processes  mails/s  CPU s per 1,000  in yardsticks  of 1 × 1\n');
  for (const count of PROCESSES) {
    const cells = [
      `${count} × ${count}`.padEnd(9),
      String(Math.round(middle(count, ({ rate }) => rate))).padStart(7),
      middle(count, ({ cpu }) => cpu)
        .toFixed(2)
        .padStart(15),
      (1_000 * units(count)).toFixed(0).padStart(13),
      (units(count) / units(1)).toFixed(2).padStart(8),
    ];
    process.stdout.write(`${cells.join('  ')}\n`);
  }
  const ratio = units(PROCESSES.at(-1)) / units(1);
  process.stdout.write(`target: at most ${TARGET.toFixed(2)}, ${ratio <= TARGET ? 'met' : 'missed'}\n`);
}

/** Bytes of the state that stays, and of the write-ahead log so far. */
async function sizes(database) {
  const text = `
    select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as log,
      (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c
        where c.relkind = 'r' and c.relname ~ '^(emails|email_contents|email_recipients)(_|$)') as emails,
      (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c
        where c.relkind = 'r' and c.relname ~ '^email_events(_|$)') as events,
      (select count(*)::float8 from email_events) as "eventCount",
      (select count(*)::float8 from emails) as "emailCount"`;
  return (await database.query(text)).rows[0];
}

function reportSizes(before, after, mails) {
  const grown = (name) => after[name] - before[name];
  const each = (bytes, count) => `${Math.round(bytes / Math.max(1, count))} bytes`;
  process.stdout.write(
    `state for each email, its text of a kilobyte included: ${each(grown('emails'), grown('emailCount'))}\n`,
  );
  process.stdout.write(`state for each event: ${each(grown('events'), grown('eventCount'))}\n`);
  process.stdout.write(
    `write-ahead log for each email: ${each(grown('log'), grown('emailCount'))} (${mails} measured)\n`,
  );
}
