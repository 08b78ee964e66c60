import { readFileSync } from 'node:fs';
import { runWith } from './cli-kit';

/** Nothing here comes as far as the database: there is none. */
const run = (...args: string[]) => runWith({}, args);
const ID = '01890000-0000-7000-8000-000000000000';

describe('a command line that is not understood', () => {
  it.each<[string, string[]]>([
    ["unknown command 'nonsense'", ['nonsense']],
    ["unknown command 'lst' (Did you mean list?)", ['org', 'lst']],
    ["missing required argument 'name'", ['org', 'create']],
    ["too many arguments for 'create'. Expected 1 argument but got 2.", ['org', 'create', 'Acme', 'Corp']],
    ["command-argument value 'x' is invalid for argument 'id'. It must be a UUID.", ['org', 'suspend', 'x']],
    ["option '--org <id>' argument 'x' is invalid. It must be a UUID.", ['key', 'list', '--org', 'x']],
    ["required option '--org <id>' not specified", ['key', 'list']],
    ["required option '--mode <mode>' not specified", ['key', 'create', '--org', ID, '--scopes', 'all']],
    [
      "option '--mode <mode>' argument 'prod' is invalid. Allowed choices are live, test.",
      ['key', 'create', '--org', ID, '--scopes', 'all', '--mode', 'prod'],
    ],
    ["unknown option '--force'", ['migrate', '--force']],
  ])('%s', async (message, args) => {
    expect(await run(...args)).toEqual({ exitCode: 1, stdout: '', stderr: `waybill: ${message}\n` });
    const error = { code: 'invalid_request', message };
    expect(await run(...args, '--json')).toEqual({ exitCode: 1, stdout: '', stderr: `${JSON.stringify({ error })}\n` });
  });

  it.each([
    ['--json', 'org', 'nonsense'],
    ['org', '--json', 'nonsense'],
    ['org', 'nonsense', '--json'],
  ])('takes --json anywhere: %s %s %s', async (...args) => {
    expect(JSON.parse((await run(...args)).stderr)).toMatchObject({ error: { code: 'invalid_request' } });
  });

  it('shows people how to use a group of commands', async () => {
    for (const args of [[], ['org']]) {
      const { exitCode, stdout, stderr } = await run(...args);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(/^Usage: waybill/);
      const { error } = JSON.parse((await run(...args, '--json')).stderr);
      expect(error).toEqual({ code: 'invalid_request', message: 'Command missing; see --help' });
    }
  });
});

describe('help', () => {
  it('is a result', async () => {
    const help = await run('key', 'create', '--help');
    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    expect(help.stdout).toMatch(/^Usage: waybill key create/);
    expect(JSON.parse((await run('key', 'create', '--help', '--json')).stdout)).toEqual({ help: help.stdout });
    expect(await run('help', 'org')).toMatchObject({ exitCode: 0, stderr: '' });
  });
});

describe('--version', () => {
  it('prints the release', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(await run('--version')).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
    expect(JSON.parse((await run('--version', '--json')).stdout)).toEqual({ version });
  });
});

describe('a configuration that is not valid', () => {
  it('is said in one line, without its values', async () => {
    const environment = { DATABASE_URL: 'postgres://u:geheim@127.0.0.1/x', PORT: 'abc' };
    const { exitCode, stdout, stderr } = await runWith(environment, ['org', 'list']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^waybill: The configuration is not valid: .*PORT.*MASTER_KEY[^\n]*\n$/);
    expect(stderr).not.toContain('geheim');
    const { error } = JSON.parse((await runWith(environment, ['org', 'list', '--json'])).stderr);
    expect(error.code).toBe('invalid_configuration');
  });
});

describe('a database that is away', () => {
  const environment = { DATABASE_URL: 'postgres://u:geheim@127.0.0.1:1/x', MASTER_KEY: 'A'.repeat(43) };

  it('is an error at once', async () => {
    const { exitCode, stdout, stderr } = await runWith(environment, ['org', 'list', '--json']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    const { error } = JSON.parse(stderr);
    expect(error).toEqual({
      code: 'service_unavailable',
      message: 'The database at 127.0.0.1:1/x cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
    });
  });
});
