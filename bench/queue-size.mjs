// How much a deep queue costs: the same deliveries, figures and health checks with a short and a deep queue. See docs/benchmarks.md.
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import { DirectInserts } from './harness/direct-inserts.mjs';
import { emailBody } from './harness/mail.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';
import { cpuSecondsOf, cpuSecondsOfTree } from './harness/usage.mjs';

const USAGE = `npm run bench:queue -- [--depth N] [--seconds S]

  --depth    open deliveries of the deep queue, by default 1,000,000
  --seconds  how long deliveries are counted, by default 6
`;
/** Enough for the deliveries of one measurement. */
const SHORT = 25_000;
const BODIES = 500;
const INSERTED_AT_ONCE = 200;
const REQUESTS = 15;
/** Seconds that a worker gets to fill its hands before counting begins. */
const WARM_UP_MS = 2_000;

const { values: options } = parseArgs({
  options: {
    depth: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '6' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) process.stdout.write(USAGE);
else await run(Number(options.depth), Number(options.seconds));

async function run(depth, seconds) {
  const bench = new Bench({ profile: undefined });
  try {
    await bench.open();
    const short = await measure(bench, SHORT, seconds);
    const deep = await measure(bench, depth, seconds);
    for (const fact of await bench.facts()) process.stdout.write(`${fact}\n`);
    for (const name of Object.keys(short)) {
      const ratio = (deep[name] / short[name]).toFixed(2);
      process.stdout.write(
        `${name.padEnd(48)} ${short[name].toFixed(3).padStart(12)} ${deep[name].toFixed(3).padStart(12)}  × ${ratio}\n`,
      );
    }
  } finally {
    await bench.close();
  }
}

/** Figures with so many open deliveries, by name. */
async function measure(bench, depth, seconds) {
  await fill(bench, depth);
  const sink = await bench.startHelper('smtp-sink');
  const api = await bench.startProduct('api');
  const idle = await requestTimes(bench, api);
  const relay = { DELIVERY_MODE: 'relay', RELAY_URL: `smtp://127.0.0.1:${sink.started.port}` };
  const worker = await bench.startProduct('worker', relay);
  const delivered = await countDeliveries(bench, { sink, worker, seconds });
  for (const process of [worker, api, sink]) await process.stop();
  return { ...idle, ...delivered };
}

async function fill(bench, depth) {
  say(`${depth} open deliveries`);
  await bench.database.query('truncate deliveries');
  const inserts = new DirectInserts({ url: bench.databaseUrl, connections: 2, tenant: bench.tenant });
  const commands = inserts.parse(Array.from({ length: BODIES }, (_, index) => emailBody(index)));
  let left = depth;
  const insertSome = async () => {
    while (left > 0) {
      const count = Math.min(INSERTED_AT_ONCE, left);
      left -= count;
      const from = left % BODIES;
      const some = Array.from({ length: count }, (_, index) => commands[(from + index) % BODIES]);
      await inserts.insert(inserts.toEmails(some), { enqueue: true });
    }
  };
  await Promise.all(Array.from({ length: inserts.connections }, insertSome));
  await inserts.close();
  await bench.database.query('vacuum analyze');
}

/** Milliseconds of the requests that read the queue. */
async function requestTimes(bench, api) {
  const times = { 'GET /health/detailed, ms': '/health/detailed', 'GET /health/startup, ms': '/health/startup' };
  const result = {};
  for (const [name, path] of Object.entries(times))
    result[name] = await requestTime(`http://127.0.0.1:${api.port}${path}`);
  return result;
}

async function requestTime(url) {
  const taken = [];
  for (let request = 0; request < REQUESTS; request += 1) {
    const begin = performance.now();
    const response = await fetch(url);
    await response.text();
    taken.push(performance.now() - begin);
    // Longer than a count is kept, so that each request may have to count.
    await delay(500);
  }
  return median(taken);
}

async function countDeliveries(bench, { sink, worker, seconds }) {
  await sink.call('reset');
  await delay(WARM_UP_MS);
  const read = async () => ({
    at: performance.now(),
    count: await sink.call('count'),
    worker: cpuSecondsOf(worker.pid),
    postgres: cpuSecondsOfTree(bench.postgresPid),
  });
  const before = await read();
  await delay(seconds * 1_000);
  const after = await read();
  const count = after.count - before.count;
  const each = (name) => ((after[name] - before[name]) / count) * 1_000;
  return {
    'seconds per 1,000 deliveries': (after.at - before.at) / count,
    'CPU seconds of the worker per 1,000': each('worker'),
    'CPU seconds of Postgres per 1,000': each('postgres'),
  };
}
