// The longest turn of the event loop of a process for all roles under requests and connections that are meant to block it.
// See docs/reliability.md.
import { readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { close, CONNECTION_ATTACKS, openConnections, whilePaused } from './attacks/connections.mjs';
import { REQUEST_ATTACKS } from './attacks/requests.mjs';
import { Bench } from './harness/bench.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';
import { parseRun } from './harness/settings.mjs';

const USAGE = `npm run bench:attack -- [--rounds N] [--seconds S] [--dist FOLDER]

  --rounds   rounds of all attacks in turn, by default 3
  --seconds  for how long a turn is looked for after each attack, by default 3
  --dist     the dist/ of another build, by default this one
`;
const RECORDER = path.join(import.meta.dirname, 'harness/turn-recorder.cjs');
/** Just below what a process takes. */
const CONNECTIONS = 2_900;
/** Wanted of every turn, in ms. */
const TARGET_MS = 50;

const settings = parseRun(USAGE, { seconds: 3 });
if (settings) await run(settings);

async function run({ rounds, seconds, dist }) {
  const bench = new Bench({ dist });
  const giveUp = () => bench.close().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, giveUp);
  const turns = new Map();
  try {
    await bench.open();
    const tenant = await bench.addTenant('attacker', ['email:send', 'email:read', 'privacy:manage', 'privacy:read']);
    for (let round = 1; round <= rounds; round += 1) {
      // A new process in each round, since the first requests of one are the slowest.
      const target = await startTarget(bench, tenant);
      for (const attack of attacks(seconds)) {
        await target.longestTurn();
        const note = await attack.run(target);
        const longest = await target.longestTurn();
        turns.set(attack.name, [...(turns.get(attack.name) ?? []), longest]);
        say(`round ${round}, ${attack.name}: ${longest.toFixed(1)} ms${note ? `, ${note}` : ''}`);
      }
      await target.stop();
    }
    for (const fact of await bench.facts()) process.stdout.write(`${fact}\n`);
    report(turns);
  } finally {
    await bench.close();
  }
}

function attacks(seconds) {
  const rest = () => delay(seconds * 1_000);
  return [
    { name: 'nothing', run: rest },
    ...REQUEST_ATTACKS.map(({ name, run: act }) => ({
      name,
      run: async (target) => {
        const note = await act(target);
        await rest();
        return note;
      },
    })),
    ...CONNECTION_ATTACKS.map(({ name, prepare, act }) => ({
      name: `${CONNECTIONS} connections ${name}`,
      run: async (target) => {
        const sockets = await openConnections(target.port, CONNECTIONS);
        prepare?.(sockets, target.tenant.key);
        await delay(1_000);
        await whilePaused(target, () => act(sockets));
        await rest();
        close(sockets);
        await delay(1_000);
        return `${sockets.length} open`;
      },
    })),
  ];
}

/** A process of the product that also reports the longest turn of its event loop since the last time, in ms. */
async function startTarget(bench, tenant) {
  const file = path.join(os.tmpdir(), `waybill-turns-${process.pid}.json`);
  const env = { NODE_OPTIONS: `--require ${RECORDER}`, TURNS_FILE: file, RATE_LIMIT_ENABLED: 'false' };
  const product = await bench.startProduct('all', env);
  const longestTurn = async () => {
    await rm(file, { force: true });
    process.kill(product.pid, 'SIGUSR2');
    for (;;) {
      const text = await readFile(file, 'utf8').catch(() => '');
      if (text.endsWith('}')) return JSON.parse(text).longest;
      await delay(5);
    }
  };
  return { ...product, tenant, longestTurn };
}

function report(turns) {
  process.stdout.write('longest turn, ms (lowest–highest)\n');
  for (const [name, found] of turns) {
    const spread = `${median(found).toFixed(1)} (${Math.min(...found).toFixed(1)}–${Math.max(...found).toFixed(1)})`;
    process.stdout.write(`${name.padEnd(50)} ${spread}${Math.max(...found) > TARGET_MS ? '  over' : ''}\n`);
  }
  const over = [...turns].filter(([, found]) => median(found) > TARGET_MS).map(([name]) => name);
  process.stdout.write(
    `target: at most ${TARGET_MS} ms, ${over.length === 0 ? 'met' : `missed by ${over.join('; ')}`}\n`,
  );
}
