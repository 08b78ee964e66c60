// The time to accept one email while the service has half, and four fifths, of its maximum load. See docs/benchmarks.md.
import { Bench } from './harness/bench.mjs';
import { emailBody } from './harness/mail.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';
import { parseRun } from './harness/settings.mjs';

const USAGE = `npm run bench:latency -- [--rounds N] [--seconds S] [--dist FOLDER]

  --rounds   rounds of full load and both shares of it in turn, by default 3
  --seconds  length of one timed run, by default 5
  --dist     the dist/ of another build, by default this one
`;
/** Connections for measuring the most emails a second, as in accept-single. */
const CONNECTIONS = 50;
/** Enough that a request that is due never waits for a connection. */
const OPEN_CONNECTIONS = 200;
const SHARES = [0.5, 0.8];
const BODIES = 1_000;
/** Wanted of the 99th percentile at half load, in ms. */
const TARGET_MS = 25;

const settings = parseRun(USAGE, { seconds: 5 });
if (settings) await run(settings);

async function run({ rounds, seconds, dist }) {
  const bench = new Bench({ dist });
  const giveUp = () => bench.close().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, giveUp);
  try {
    await bench.open();
    const [api, load] = [await bench.startProduct('api'), await bench.startHelper('http-load')];
    const bodies = Array.from({ length: BODIES }, (_, index) => JSON.stringify(emailBody(index)));
    const target = { port: api.port, path: '/v1/emails', key: bench.tenant.key, bodies };
    const full = () => load.call('run', { ...target, connections: CONNECTIONS, seconds });
    const part = (rate) => load.call('run', { ...target, connections: OPEN_CONNECTIONS, seconds, rate });
    await full();
    const results = new Map(SHARES.map((share) => [share, []]));
    for (let round = 1; round <= rounds; round += 1) {
      const { count, seconds: taken } = await full();
      say(`round ${round}: at most ${Math.round(count / taken)} emails/s`);
      for (const share of SHARES) {
        const rate = (count / taken) * share;
        const { p50, p99 } = await part(rate);
        results.get(share).push({ rate, p50, p99 });
      }
    }
    report(results);
  } finally {
    await bench.close();
  }
}

function report(results) {
  process.stdout.write('load  emails/s  p50 ms  p99 ms (lowest–highest)\n');
  for (const [share, samples] of results) {
    const of = (name) => samples.map((sample) => sample[name]);
    const [rate, p50, p99] = ['rate', 'p50', 'p99'].map((name) => median(of(name)));
    const spread = `${Math.min(...of('p99')).toFixed(1)}–${Math.max(...of('p99')).toFixed(1)}`;
    const cells = [
      `${share * 100} %`,
      String(Math.round(rate)).padStart(8),
      p50.toFixed(1).padStart(6),
      p99.toFixed(1),
    ];
    process.stdout.write(`${cells.join('  ')} (${spread})\n`);
  }
  const atHalf = median(results.get(SHARES[0]).map(({ p99 }) => p99));
  process.stdout.write(`target: p99 below ${TARGET_MS} ms at half load, ${atHalf < TARGET_MS ? 'met' : 'missed'}\n`);
}
