import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sqlMutantsOf } from './sql-mutants.mjs';

/**
 * Mutates the SQL of a room: its tests need a Postgres, so that each mutant is a run of Jest. The file is put back at the end.
 * @returns mutants as Stryker describes them
 */
export async function mutateSql(root, { sql, tests }) {
  const file = path.join(root, sql);
  const source = await readFile(file, 'utf8');
  const found = [];
  const restore = () => writeFile(file, source);
  const end = () => void restore().finally(() => process.exit(1));
  process.once('SIGINT', end).once('SIGTERM', end);
  try {
    if (!(await passes(root, tests))) throw new Error('The tests fail without a mutant');
    for (const { text, line, from, to } of sqlMutantsOf(source)) {
      await writeFile(file, text);
      const status = (await passes(root, tests)) ? 'Survived' : 'Killed';
      const location = { start: { line, column: 1 } };
      found.push({ fileName: file, location, mutatorName: 'SQL', replacement: `${from} → ${to}`, status });
    }
  } finally {
    await restore();
    process.off('SIGINT', end).off('SIGTERM', end);
  }
  return found;
}

async function passes(root, tests) {
  const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'integration', '--bail', '--', ...tests];
  const child = spawn(process.execPath, jest, { cwd: root, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  return code === 0;
}
