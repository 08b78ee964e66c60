import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { waitFor } from '../../setup/wait-for';

/** Stands in for the compiler: counts its runs, and writes what it would write. */
const COMPILER = `
const fs = require('node:fs');
fs.appendFileSync('builds', 'x');
console.log('compiler output');
setTimeout(() => {
  fs.mkdirSync('dist/cli', { recursive: true });
  fs.writeFileSync('dist/main.js', '');
  fs.writeFileSync('dist/cli/main.js', fs.readFileSync('src/cli.ts'));
  process.exitCode = fs.existsSync('src/broken.ts') ? 2 : 0;
}, 200);
`;
const COMMAND = `
process.on('SIGTERM', () => process.exit(7));
console.log(JSON.stringify(process.argv.slice(2)));
if (process.argv[2] === 'wait') setInterval(() => undefined, 1000);
else process.exitCode = Number(process.argv[2] ?? 0);
`;

/** More than any process id (Linux, PID_MAX_LIMIT). */
const NOBODY = 4_194_305;

interface Result {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

let root: string;
const inRoot = (...names: string[]): string => path.join(root, ...names);
const lock = (): string => inRoot('node_modules', '.cache', 'waybill-build.lock');
const exists = (file: string): Promise<boolean> => stat(file).then(Boolean, () => false);
const builds = async (): Promise<number> => (await readFile(inRoot('builds'), 'utf8').catch(() => '')).length;

function start(script: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [inRoot('scripts', script), ...args]);
}

async function finish(child: ChildProcess): Promise<Result> {
  const { stdout, stderr } = child;
  const [out, err, [exitCode]] = await Promise.all([text(stdout!), text(stderr!), once(child, 'exit')]);
  return { exitCode: exitCode as number | null, stdout: out, stderr: err };
}

const run = (script: string, ...args: string[]): Promise<Result> => finish(start(script, ...args));

async function setAge(file: string, seconds: number): Promise<void> {
  const time = Date.now() / 1_000 - seconds;
  await utimes(file, time, time);
}

async function edit(file: string): Promise<void> {
  await writeFile(inRoot(file), '');
  const { mtimeMs } = await stat(inRoot('dist', 'main.js'));
  await utimes(inRoot(file), Date.now() / 1_000, Math.min(Date.now(), mtimeMs + 1) / 1_000);
}

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'waybill-scripts-'));
  await cp(path.resolve('scripts'), inRoot('scripts'), { recursive: true });
  await mkdir(inRoot('node_modules', 'typescript-7', 'bin'), { recursive: true });
  await writeFile(inRoot('node_modules', 'typescript-7', 'bin', 'tsc'), COMPILER);
  await mkdir(inRoot('src', 'inner'), { recursive: true });
  const sources = ['package.json', 'tsconfig.json', 'src/inner/service.ts', 'src/cli.ts'];
  for (const file of sources) await writeFile(inRoot(file), file === 'src/cli.ts' ? COMMAND : '{}');
  for (const file of [...sources, 'src', 'src/inner']) await setAge(inRoot(file), 60);
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('build-if-stale', () => {
  it('builds what is missing, says nothing on stdout, and is content afterwards', async () => {
    await expect(run('build-if-stale.mjs')).resolves.toEqual({
      exitCode: 0,
      stdout: '',
      stderr: 'waybill: building, because dist/ is missing\ncompiler output\n',
    });
    await expect(run('build-if-stale.mjs')).resolves.toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(await builds()).toBe(1);
  });

  it.each(['src/inner/service.ts', 'src/new.ts', 'tsconfig.json', 'package.json'])(
    'builds again after a change of %s',
    async (file) => {
      await run('build-if-stale.mjs');
      await edit(file);
      const { stderr } = await run('build-if-stale.mjs');
      expect(stderr).toContain('is newer');
      expect(await builds()).toBe(2);
    },
  );

  it('builds again when a source was removed, but not for a unit spec or a file from the future', async () => {
    await writeFile(inRoot('src', 'inner', 'service.spec.ts'), '');
    await setAge(inRoot('src', 'inner'), 60);
    await run('build-if-stale.mjs');
    await edit('src/inner/service.spec.ts');
    await setAge(inRoot('src', 'cli.ts'), -3_600);
    await run('build-if-stale.mjs');
    expect(await builds()).toBe(1);

    await setAge(inRoot('dist', 'main.js'), 30);
    await rm(inRoot('src', 'inner', 'service.ts'));
    await run('build-if-stale.mjs');
    expect(await builds()).toBe(2);
  });

  it('returns the exit code of a failed build, and does not take its output for a build', async () => {
    await writeFile(inRoot('src', 'broken.ts'), '');
    await expect(run('build-if-stale.mjs')).resolves.toMatchObject({ exitCode: 2 });
    await expect(run('waybill.mjs')).resolves.toMatchObject({ exitCode: 2, stdout: '' });
    await rm(inRoot('src', 'broken.ts'));
    await expect(run('build-if-stale.mjs')).resolves.toMatchObject({ exitCode: 0 });
  });

  it('builds once when two processes start at the same time', async () => {
    const results = await Promise.all([run('build-if-stale.mjs'), run('waybill.mjs')]);
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(await builds()).toBe(1);
    expect(await exists(lock())).toBe(false);
  });

  it('does not build beside `npm run build`', async () => {
    const compiling = run('build/compile.mjs');
    await waitFor(() => exists(lock()), { what: 'the build to begin' });
    const results = await Promise.all([compiling, run('waybill.mjs')]);
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(await builds()).toBe(1);
    expect(await exists(lock())).toBe(false);
  });

  it('does not take what a failed `npm run build` leaves for a build', async () => {
    await writeFile(inRoot('src', 'broken.ts'), '');
    await expect(run('build/compile.mjs')).resolves.toMatchObject({ exitCode: 2 });
    await expect(run('build-if-stale.mjs')).resolves.toMatchObject({ exitCode: 2 });
    expect(await builds()).toBe(2);
  });

  it('takes over from a build that was killed', async () => {
    await run('build-if-stale.mjs');
    await edit('src/inner/service.ts');
    await mkdir(lock(), { recursive: true });
    await writeFile(path.join(lock(), 'owner'), String(NOBODY));
    await expect(run('build-if-stale.mjs')).resolves.toMatchObject({ exitCode: 0 });
    expect(await builds()).toBe(2);
  });

  it('waits for a build that runs, even if the main file is there already', async () => {
    await run('build-if-stale.mjs');
    await mkdir(lock(), { recursive: true });
    await writeFile(path.join(lock(), 'owner'), String(process.pid));
    const waiting = start('build-if-stale.mjs');
    const ended = finish(waiting);
    await once(waiting.stderr!, 'data');
    await rm(lock(), { recursive: true });
    await expect(ended).resolves.toMatchObject({ exitCode: 0, stderr: 'waybill: waiting for a build that runs\n' });
    expect(await builds()).toBe(1);
  });

  it('does nothing in a production image', async () => {
    await run('build-if-stale.mjs');
    await rm(inRoot('src'), { recursive: true });
    await expect(run('build-if-stale.mjs')).resolves.toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it('uses an older build when the compiler is not installed, and reports that', async () => {
    await run('build-if-stale.mjs');
    await edit('src/inner/service.ts');
    await rm(inRoot('node_modules', 'typescript-7'), { recursive: true });
    const { exitCode, stderr } = await run('build-if-stale.mjs');
    expect(exitCode).toBe(0);
    expect(stderr).toContain('the compiler is not installed');
    await rm(inRoot('dist'), { recursive: true });
    await expect(run('build-if-stale.mjs')).resolves.toMatchObject({ exitCode: 1 });
  });
});

describe('waybill', () => {
  it('passes arguments, output and exit code through', async () => {
    await expect(run('waybill.mjs', '3', '--json', 'a b')).resolves.toMatchObject({
      exitCode: 3,
      stdout: '["3","--json","a b"]\n',
    });
  });

  it('passes signals through', async () => {
    const child = start('waybill.mjs', 'wait');
    const ended = finish(child);
    await once(child.stdout!, 'data');
    child.kill('SIGTERM');
    await expect(ended).resolves.toMatchObject({ exitCode: 7 });
  });
});
