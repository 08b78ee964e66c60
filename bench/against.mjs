// The product beside another build of itself, in interleaved rounds, each on a Postgres of its own. See docs/benchmarks.md.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import { printReport } from './harness/report.mjs';
import { runRounds } from './harness/rounds.mjs';
import { parseSettings } from './harness/settings.mjs';

const USAGE = `npm run bench:against -- --dist FOLDER [--only NAME] [--rounds N] [--seconds S] [--messages N]

  --dist  the dist/ of the other build; its schema has to be that of this one
  the others as with npm run bench; --only is deliver by default
`;

const { values, tokens } = parseArgs({ options: { dist: { type: 'string' } }, strict: false, tokens: true });
if (values.dist === undefined) process.stdout.write(USAGE);
else await run(path.resolve(values.dist), parseSettings(othersOf(tokens)));

async function run(dist, { scenarios, ...settings }) {
  const [name] = scenarios.length === 1 ? scenarios : ['deliver'];
  const { prepare } = await import(`./scenarios/${name}.mjs`);
  const benches = [new Bench({ dist }), new Bench({})];
  try {
    const prepared = [];
    for (const bench of benches) {
      await bench.open();
      prepared.push(await prepare(bench, settings));
    }
    const [before, now] = prepared.map(({ contenders }) => contenders.at(-1));
    const finish = () => Promise.all(prepared.map((one) => one.finish?.()));
    const contenders = [{ ...before, name: 'the other build' }, now];
    const scenario = { ...prepared[1], contenders, targets: { 'the other build': 1 }, finish };
    const figures = [await runRounds(scenario, settings)];
    printReport({ facts: await benches[1].facts(), settings, figures });
  } finally {
    for (const bench of benches) await bench.close();
  }
}

/** The arguments except `--dist`. */
function othersOf(all) {
  const at = all.find(({ name }) => name === 'dist').index;
  const isInline = all.find(({ name }) => name === 'dist').inlineValue;
  return process.argv.slice(2).filter((_argument, index) => index !== at && (isInline || index !== at + 1));
}
