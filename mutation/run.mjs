// Changes the code of an area in one place at a time and runs its tests: a change that no test notices is a gap. See
// CONTRIBUTING.md. Not a part of `npm test`: an area takes a minute or more.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { LEAST_SCORE, AREAS } from './areas.mjs';
import { mutateSql } from './run-sql.mjs';

const USAGE = `npm run mutation -- [AREA…] [--survivors]

  AREA         ${Object.keys(AREAS).join(', ')}; by default all of them
  --survivors  lists what no test has noticed
`;
const MISSED = new Set(['Survived', 'NoCoverage']);
const NOTES = { NoCoverage: ' (not run)', Timeout: ' (no end in time)' };
const ROOT = path.resolve(import.meta.dirname, '..');
/** Stryker counts how often a mutant runs, and so ends a loop: no test has noticed a mutant that only took too long. */
const isEndless = ({ status, statusReason = '' }) => status === 'Timeout' && /hit limit/i.test(statusReason);
const isLate = (mutant) => mutant.status === 'Timeout' && !isEndless(mutant);

const { values, positionals } = parseArgs({
  options: { survivors: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(AREAS);
const unknown = names.filter((name) => !(name in AREAS));
if (values.help || unknown.length > 0) {
  process.stdout.write(unknown.length > 0 ? `No such area: ${unknown.join(', ')}\n\n${USAGE}` : USAGE);
  process.exitCode = values.help ? 0 : 2;
} else {
  for (const name of names) {
    const area = AREAS[name];
    report(name, await (area.sql ? mutateSql(ROOT, area) : mutate(area)));
  }
}

/** One area after the other, with one process of tests, so that other work on the machine can continue. */
async function mutate({ mutate: files, tests }) {
  process.env.MUTATION_TESTS = tests.join(',');
  process.chdir(ROOT);
  const stryker = new Stryker({
    ...{ mutate: files, coverageAnalysis: 'perTest', concurrency: 1, timeoutMS: 30_000 },
    ...{ testRunner: 'in-process', plugins: [path.join(import.meta.dirname, 'in-process-runner.mjs')] },
    ignorePatterns: ['dist', 'docs', 'deploy', 'bench', 'chaos', 'test/e2e', 'test/integration', '.data'],
    tempDirName: '.stryker-tmp',
    ...{ reporters: [], allowConsoleColors: false, logLevel: 'error', disableTypeChecks: false },
  });
  return stryker.runMutationTest();
}

function report(name, mutants) {
  const endless = mutants.filter(isEndless).length;
  const killed = mutants.filter(({ status }) => status === 'Killed').length + endless;
  const missed = mutants.filter((mutant) => MISSED.has(mutant.status) || isLate(mutant));
  const score = (100 * killed) / Math.max(1, killed + missed.length);
  process.stdout.write(
    `${name.padEnd(22)} ${score.toFixed(1).padStart(5)} %  ${killed} of ${killed + missed.length} killed, ${endless} of them as endless\n`,
  );
  if (values.survivors) for (const mutant of missed) process.stdout.write(describe(mutant));
  if (score < LEAST_SCORE || killed === 0) process.exitCode = 1;
}

function describe({ fileName, location: { start }, mutatorName, replacement, status }) {
  const file = path.relative(ROOT, fileName);
  const text = String(replacement).replace(/\s+/g, ' ').slice(0, 100);
  return `  ${file}:${start.line}:${start.column} ${mutatorName}${NOTES[status] ?? ''}: ${text}\n`;
}
