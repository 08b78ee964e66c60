import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { ENGINE_FLAGS } from './kit/service-process';

const SCRIPTS = path.resolve(__dirname, '..', '..', 'scripts');
const BUILD_LIMIT_MS = 180_000;

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  // Nothing to do after `npm test`; a build inside a command would show on its standard error.
  await promisify(execFile)(process.execPath, [path.join(SCRIPTS, 'build-if-stale.mjs')]);
  database = await createTestDatabase();
  folder = await mkdtemp(path.join(os.tmpdir(), 'waybill-e2e-cli-'));
  // The commands run here, so this is the file they read.
  const settings = [`DATABASE_URL=${database.url}`, `MASTER_KEY=${'A'.repeat(43)}`, 'PORT=not-a-number', ''];
  await writeFile(path.join(folder, '.env'), settings.join('\n'));
}, BUILD_LIMIT_MS);
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

function start(
  args: readonly string[],
  stdout: 'pipe' | number = 'pipe',
  environment: Record<string, string> = {},
): ChildProcess {
  const { PATH, HOME } = process.env;
  // What is set already wins over the file.
  return spawn(process.execPath, [...ENGINE_FLAGS, path.join(SCRIPTS, 'waybill.mjs'), ...args], {
    cwd: folder,
    env: { PATH, HOME, PORT: '3000', ...environment },
    stdio: ['pipe', stdout, 'pipe'],
  });
}

async function waybill(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const child = start(args);
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  const [exitCode] = (await ended) as [number];
  return { exitCode, stdout, stderr };
}

describe('npm run waybill', () => {
  it.each([
    [[], /^waybill: The result cannot be written: ENOSPC[^\n]*\n$/],
    [['--json'], /^\{"error":\{"code":"internal_error","message":"The result cannot be written: ENOSPC[^\n]*"\}\}\n$/],
  ])('fails when the result cannot be written, since it may be a key that is shown once: %j', async (options, said) => {
    const full = await open('/dev/full', 'w');
    const child = start(['org', 'list', ...options], full.fd);
    const [stderr, [exitCode]] = await Promise.all([text(child.stderr!), once(child, 'close')]);
    await full.close();
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(said) });
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends in order at %s', async (signal, code) => {
    // Nothing listens there, and `migrate` waits for the database.
    const child = start(['migrate'], 'pipe', { DATABASE_URL: 'postgres://waybill@127.0.0.1:1/waybill' });
    let stderr = '';
    child.stderr!.on('data', (chunk: Buffer) => {
      const isWaiting = stderr === '';
      stderr += chunk.toString();
      if (isWaiting) child.kill(signal);
    });
    expect(await once(child, 'close')).toEqual([code, null]);
    expect(stderr).toMatch(
      new RegExp(`^waybill: waiting for the database [^\\n]+\\nwaybill: Interrupted by ${signal}\\n$`),
    );
  });

  it('makes an organization, a domain and a key: one JSON value each', async () => {
    const created = await waybill('org', 'create', 'End to end', '--json');
    expect(created).toMatchObject({ exitCode: 0, stderr: '' });
    const organization = JSON.parse(created.stdout) as { id: string };
    expect(organization).toMatchObject({ name: 'End to end' });

    const domain = await waybill('--json', 'domain', 'add', organization.id, 'e2e.example.com');
    expect(domain).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(domain.stdout)).toMatchObject({ domain: 'e2e.example.com', verification_status: 'pending' });

    const key = await waybill(
      ...['key', 'create', '--json', '--org', organization.id, '--mode', 'live', '--scopes', 'all'],
    );
    expect(key).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(key.stdout)).toMatchObject({ mode: 'live', key: expect.stringMatching(/^wb_live_/) });
  });

  it('fails with one line on standard error and nothing on standard output', async () => {
    const unknown = await waybill('key', 'revoke', '01890000-0000-7000-8000-000000000000', '--json');
    expect(unknown).toMatchObject({ exitCode: 1, stdout: '' });
    expect(JSON.parse(unknown.stderr)).toEqual({
      error: { code: 'resource_not_found', message: 'API key not found' },
    });
    expect(await waybill('org', 'suspend', 'x')).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: "waybill: command-argument value 'x' is invalid for argument 'id'. It must be a UUID.\n",
    });
  });

  it('survives a reader that has gone away', async () => {
    const child = start(['org', 'list']);
    child.stdout!.destroy();
    const [stderr, [exitCode]] = await Promise.all([text(child.stderr!), once(child, 'close')]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });
});
