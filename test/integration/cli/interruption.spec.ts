import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { CliError, Output } from '../../../src/cli/session/output';
import { runCli } from '../../../src/cli/run-cli';
import { runWith } from './cli-kit';

/** Interrupts the command as soon as it says so. */
async function interruptAt(said: string, environment: NodeJS.ProcessEnv, args: readonly string[]) {
  const interruption = new AbortController();
  let stderr = '';
  const write = (text: string): void => {
    stderr += text;
    if (text.includes(said)) interruption.abort(new CliError('interrupted', 'Interrupted by a test'));
  };
  const { signal } = interruption;
  const exitCode = await runCli(args, (json) => new Output(json, { write }, { write }), { environment, signal });
  return { exitCode, isInterrupted: stderr.endsWith('waybill: Interrupted by a test\n') };
}

describe('an interrupted command on an embedded database', () => {
  const interrupted = { exitCode: 1, isInterrupted: true };
  let folder: string;
  let environment: { WAYBILL_DATA_DIR: string };
  const run = (...args: string[]) => runWith(environment, args);
  const isServerLeft = () => existsSync(path.join(environment.WAYBILL_DATA_DIR, 'pg18', 'data', 'postmaster.pid'));

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'waybill-interrupted-'));
    environment = { WAYBILL_DATA_DIR: path.join(folder, 'data') };
    expect(await run('org', 'create', 'Acme')).toMatchObject({ exitCode: 0 });
    expect(await run('backup', path.join(folder, 'whole'))).toMatchObject({ exitCode: 0 });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(['Postgres started', 'organizations: 1 rows', 'reading it again'])(
    'leaves no server, and no part of a backup: at “%s”',
    async (said) => {
      expect(await interruptAt(said, environment, ['backup', path.join(folder, 'cut')])).toEqual(interrupted);
      expect((await readdir(folder)).sort()).toEqual(['data', 'whole']);
      expect(isServerLeft()).toBe(false);
    },
  );

  it.each(['reading', 'Postgres started', 'making the schema', 'organizations: 1 rows'])(
    'leaves no server, and the database as it was before a restore: at “%s”',
    async (said) => {
      await run('org', 'create', `Before ${said}`);
      const before = await run('org', 'list');
      expect(before.stdout).toContain(`Before ${said}`);
      const restore = ['restore', '--force', path.join(folder, 'whole')];
      expect(await interruptAt(said, environment, restore)).toEqual(interrupted);
      expect(isServerLeft()).toBe(false);
      expect(await run('org', 'list')).toEqual(before);
    },
  );

  it('carries a restore to its end once it has committed', async () => {
    const restore = ['restore', '--force', path.join(folder, 'whole')];
    const { exitCode } = await interruptAt('committed', environment, restore);
    expect(exitCode).toBe(0);
    expect(isServerLeft()).toBe(false);
    expect((await run('org', 'list')).stdout).not.toContain('Before');
  });
});
