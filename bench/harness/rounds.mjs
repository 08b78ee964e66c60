import { say } from './say.mjs';
import { cpuSecondsOf, cpuSecondsOfTree } from './usage.mjs';

const WARM_UP_SHARE = 0.5;

/**
 * Runs the contenders of one figure in turn, round by round, so that other load on the machine affects them equally.
 *
 * A scenario has `contenders`, the product last: `{name, run(seconds), processes}`; `run` returns `{count, seconds}`, and
 * `processes` maps a name to a process id or, for Postgres, `{tree}`.
 */
export async function runRounds(scenario, settings, statements) {
  const samples = new Map(scenario.contenders.map((contender) => [contender.name, []]));
  for (const contender of scenario.contenders) {
    say(`${scenario.name}: warming up ${contender.name}`);
    await contender.run(settings.seconds * WARM_UP_SHARE, await contender.prepare?.());
  }
  for (let round = 1; round <= settings.rounds; round += 1) {
    for (const contender of scenario.contenders) {
      const sample = await measure(contender, settings.seconds, contender.name === 'product' ? statements : undefined);
      samples.get(contender.name).push(sample);
      say(`${scenario.name}: round ${round}, ${contender.name}: ${Math.round(sample.rate)} ${scenario.unit}/s`);
    }
  }
  const memory = scenario.memory?.() ?? {};
  await scenario.finish?.();
  return { ...scenario, samples, memory };
}

async function measure({ prepare, run, processes }, seconds, statements) {
  const prepared = await prepare?.();
  await statements?.reset();
  const before = readAll(processes);
  const { count, seconds: taken, ...more } = await run(seconds, prepared);
  const after = readAll(processes);
  if (statements) for (const line of await statements.describe(count)) say(line);
  const cpu = Object.fromEntries(
    Object.keys(processes).map((name) => [name, ((after[name] - before[name]) / count) * 1_000]),
  );
  return { rate: count / taken, cpu, ...more };
}

function readAll(processes) {
  return Object.fromEntries(
    Object.entries(processes).map(([name, pid]) => [
      name,
      typeof pid === 'object' ? cpuSecondsOfTree(pid.tree) : cpuSecondsOf(pid),
    ]),
  );
}
