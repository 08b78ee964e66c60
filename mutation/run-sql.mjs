import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { filesOf } from './in-process-runner.mjs';
import { sqlMutantsOf } from './sql-mutants.mjs';

const require = createRequire(import.meta.url);
const { forgetOwnModules, replaced } = require('./typescript-loader.cjs');
const { CollectedTests } = require('./test-collector.cjs');

/** A mutant may search without end. */
const STATEMENT_TIMEOUT = '-c statement_timeout=20s';

/**
 * Mutates the SQL of an area and runs its tests on a Postgres of their own, all in this process; no file is changed.
 * @returns mutants as Stryker describes them
 */
export async function mutateSql(root, { sql, tests }) {
  const files = filesOf(root, tests);
  const { default: startCluster } = require(path.join(root, 'test/setup/start-cluster.ts'));
  const { default: stopCluster } = require(path.join(root, 'test/setup/stop-cluster.ts'));
  await startCluster();
  process.env.PGOPTIONS = STATEMENT_TIMEOUT;
  try {
    const failure = await firstFailure(root, files);
    if (failure) throw new Error(`The tests fail without a mutant: ${failure}`);
    const found = [];
    for (const name of sql) found.push(...(await mutateFile(root, path.join(root, name), files)));
    return found;
  } finally {
    await stopCluster();
  }
}

async function mutateFile(root, file, tests) {
  const found = [];
  for (const { text, line, from, to } of sqlMutantsOf(await readFile(file, 'utf8'))) {
    replaced.set(file, text);
    const status = (await firstFailure(root, tests)) ? 'Killed' : 'Survived';
    const location = { start: { line, column: 1 } };
    found.push({ fileName: file, location, mutatorName: 'SQL', replacement: `${from} → ${to}`, status });
  }
  replaced.delete(file);
  return found;
}

/** @returns the name of the first test that fails. */
async function firstFailure(root, files) {
  forgetOwnModules(root);
  // Without their earlier turns: these tests wait for a database, which may have less of the machine than they have.
  const tests = new CollectedTests(new Map());
  tests.load(root, files);
  try {
    for (const id of tests.byId.keys()) {
      const error = await tests.run(id);
      if (error) return `${id}: ${error.message ?? error}`;
    }
    return undefined;
  } finally {
    await tests.end();
  }
}
