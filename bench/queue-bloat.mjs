// Runs the queue at a constant rate and prints how its table grows: autovacuum must keep up. See docs/benchmarks.md.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import { load } from './harness/product.mjs';
import { say } from './harness/say.mjs';

const USAGE = `npm run bench:bloat -- [--minutes N] [--rate N] [--depth N]

  --minutes  how long, by default 6: autovacuum checks once a minute
  --rate     deliveries a second, by default 1,000
  --depth    open deliveries at any time, by default 5,000
`;
const BATCH = 250;
const SAMPLE_MS = 15_000;
/** One in this many attempts is deferred, and due again at once. */
const DEFERRED_EVERY = 10;
const LEASE_SECONDS = 3_600;
const SESSION = randomUUID();
const TENANTS = 20;

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '6' },
    rate: { type: 'string', default: '1000' },
    depth: { type: 'string', default: '5000' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) process.stdout.write(USAGE);
else await run();

async function run() {
  const [minutes, rate, depth] = [options.minutes, options.rate, options.depth].map(Number);
  const bench = new Bench({ profile: undefined });
  try {
    await bench.open();
    const queue = await openQueue(bench.database);
    for (let filled = 0; filled < depth; filled += BATCH) await queue.enqueue(BATCH);
    say(`${minutes} minutes at ${rate} deliveries a second, ${depth} open`);
    report(await sampled(queue, minutes * 60_000, rate));
  } finally {
    await bench.close();
  }
}

/** The product's own statements. */
async function openQueue(database) {
  const { enqueueDeliveries } = load('./delivery/queue/sql/open-deliveries.sql.js');
  const { claimDeliveries } = load('./delivery/queue/sql/claim-deliveries.sql.js');
  const { settleDeliveries } = load('./delivery/queue/sql/settle-deliveries.sql.js');
  const { beginSession } = load('./delivery/queue/sql/worker-sessions.sql.js');
  const { newId } = load('./common/ids.js');
  const owners = Array.from({ length: TENANTS }, newId);
  const execute = async (statement) => (await database.query(statement)).rows;
  await execute(beginSession(SESSION, 'bench', process.pid, LEASE_SECONDS));

  const enqueue = (count) =>
    execute(
      enqueueDeliveries(
        Array.from({ length: count }, (_, n) => newDelivery(newId(), owners[n % owners.length])),
        new Date(),
      ),
    );
  /** Claims deliveries and ends most of them; returns how many have ended. */
  async function cycle() {
    const claims = await execute(claimDeliveries(claimInput(owners)));
    const now = new Date();
    const results = claims.map((claim, n) => ({ ...claim, nextAttemptAt: n % DEFERRED_EVERY === 0 ? now : null }));
    await execute(settleDeliveries(results, now));
    return results.filter(({ nextAttemptAt }) => nextAttemptAt === null).length;
  }
  const measure = async () => {
    const text = `select pg_total_relation_size('deliveries')::float8 as bytes, pg_stat_get_dead_tuples('deliveries'::regclass)::int as dead`;
    return (await database.query(text)).rows[0];
  };
  return { enqueue, cycle, measure };
}

function newDelivery(emailId, organizationId) {
  const recipient = 'r@x.example';
  const key = { organizationId, mode: 'live', emailId, position: 0, domainId: organizationId };
  return { ...key, recipient, destination: 'x.example', category: 'transactional', dueAt: new Date(), expiresAt: null };
}

function claimInput(owners) {
  const most = Math.ceil(BATCH / TENANTS);
  const quotas = owners.map((organizationId) => ({ organizationId, destination: 'x.example', most }));
  return { sessionId: SESSION, quotas, bulkRounding: 0, now: new Date() };
}

/** Works at the rate and takes a sample every 15 s. */
async function sampled(queue, forMs, rate) {
  const begin = performance.now();
  const samples = [{ second: 0, over: 0, ...(await queue.measure()) }];
  let over = 0;
  for (let elapsed = 0; elapsed < forMs; elapsed = performance.now() - begin) {
    const done = await queue.cycle();
    await queue.enqueue(done);
    over += done;
    if (elapsed >= samples.length * SAMPLE_MS) {
      samples.push({ second: Math.round(elapsed / 1_000), over, ...(await queue.measure()) });
    }
    await delay(Math.max(0, (over / rate) * 1_000 - (performance.now() - begin)));
  }
  samples.push({ second: Math.round(forMs / 1_000), over, ...(await queue.measure()) });
  return samples;
}

/** The table's size is bounded when its peak in the second half is not above that of the first. */
function report(samples) {
  const megabytes = (bytes) => (bytes / 2 ** 20).toFixed(1);
  for (const { second, over, bytes, dead } of samples) {
    process.stdout.write(
      `${String(second).padStart(5)} s ${String(over).padStart(9)} over ${megabytes(bytes).padStart(7)} MB ${String(dead).padStart(8)} dead\n`,
    );
  }
  const half = samples.length / 2;
  const peak = (part) => Math.max(...part.map(({ bytes }) => bytes));
  const [first, second] = [peak(samples.slice(0, half)), peak(samples.slice(half))];
  const start = samples[0].bytes;
  process.stdout.write(
    `\nend / start ${(samples.at(-1).bytes / start).toFixed(2)}, largest of the second half / of the first ${(second / first).toFixed(2)}\n`,
  );
}
