// Measures the product and its floors, on this machine, in interleaved rounds. See docs/benchmarks.md.
import { Bench } from './harness/bench.mjs';
import { printReport } from './harness/report.mjs';
import { runRounds } from './harness/rounds.mjs';
import { parseSettings, USAGE } from './harness/settings.mjs';

const settings = parseSettings(process.argv.slice(2));
if (settings.help) process.stdout.write(USAGE);
else await run();

async function run() {
  const bench = new Bench(settings);
  const giveUp = () => bench.close().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, giveUp);
  try {
    await bench.open();
    const figures = [];
    for (const name of settings.scenarios) {
      await bench.settle();
      const { prepare } = await import(`./scenarios/${name}.mjs`);
      figures.push(await runRounds(await prepare(bench, settings), settings, bench.statements));
    }
    printReport({ facts: await bench.facts(), settings, figures });
  } catch (error) {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  } finally {
    await bench.close();
  }
}
