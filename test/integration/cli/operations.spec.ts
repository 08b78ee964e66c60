import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { MIGRATIONS } from '../../../src/database/schema/migrations';
import { waitFor } from '../../setup/wait-for';
import { query } from '../embedded/support';
import { CliKit, runWith } from './cli-kit';

const NAMES = MIGRATIONS.map((migration) => new migration().name);

interface Check {
  name: string;
  status: string;
  message: string;
  details?: Record<string, unknown>;
}

function byName(checks: Check[]): Record<string, Check> {
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

let cli: CliKit;
beforeEach(async () => (cli = await CliKit.create()));
afterEach(() => cli.destroy());

async function emptyDatabase(): Promise<void> {
  await query(cli.url, 'drop schema public cascade; create schema public');
}

describe('waybill migrate', () => {
  it('applies everything to an empty database, and nothing the second time', async () => {
    await emptyDatabase();
    expect(await cli.json('migrate')).toEqual({ applied: NAMES });
    expect(await cli.json('migrate')).toEqual({ applied: [] });
    expect((await cli.run('migrate')).stdout).toBe('The schema is up to date.\n');
  });

  it('refuses the schema of a later release, and names one that runs on it', async () => {
    await query(cli.url, `insert into schema_migrations ("timestamp", name) values (9999, 'FromTheFuture9999')`);
    const made = (oldest: string) =>
      query(cli.url, `comment on table schema_migrations is 'Made by release 99.1.0, for releases from ${oldest} on'`);
    await made('99.0.0');
    const refused = await cli.run('migrate');
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
    expect(refused.stderr).toContain('start release 99.0.0 or later');
    await made('0.1.0');
    expect(await cli.run('migrate')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('still runs on it'),
    });
  });

  it('is done by the first other command as well, unless the operator wants it otherwise', async () => {
    await emptyDatabase();
    const answer = await runWith({ ...cli.environment, MIGRATE_ON_START: 'false' }, ['org', 'list']);
    const stderr = 'waybill: Nothing can be done: the database is empty: run `waybill migrate`\n';
    expect(answer).toEqual({ exitCode: 1, stdout: '', stderr });
    expect(await cli.json('org', 'list')).toEqual([]);
  });
});

describe('waybill connections', () => {
  it('lists programs, ends one, and rolls its transaction back', async () => {
    const forgotten = new Client({ connectionString: cli.url, application_name: 'forgotten' });
    forgotten.on('error', () => undefined);
    await forgotten.connect();
    await forgotten.query(`begin; create table half_done (id int)`);
    const listed = await cli.json('connections', 'list');
    const { pid } = listed.find(({ application }: { application: string }) => application === 'forgotten');
    expect(listed[0]).toMatchObject({ pid, transactionSeconds: expect.any(Number) });
    expect(await cli.json('connections', 'end', String(pid))).toEqual({ pid });
    await waitFor(
      () =>
        forgotten.query('select 1').then(
          () => false,
          () => true,
        ),
      { what: 'its end' },
    );
    expect(await query(cli.url, `select to_regclass('half_done') as found`)).toEqual([{ found: null }]);
    expect((await cli.failure('connections', 'end', String(pid))).code).toBe('resource_not_found');
    expect((await cli.failure('connections', 'end', 'x')).code).toBe('invalid_request');
  });
});

describe('waybill doctor', () => {
  it('finds a healthy system healthy', async () => {
    const { healthy, checks } = await cli.json<{ healthy: boolean; checks: Check[] }>('doctor');
    expect(healthy).toBe(true);
    expect(checks.map(({ name }) => name)).toEqual([
      ...[
        'node',
        'configuration',
        'certificate',
        'disk',
        'backup',
        'database',
        'migrations',
        'clock',
        'connections',
        'row-level security',
        'backfills',
        'master key',
        'queue',
        'workers',
        'sending',
        'egress',
      ],
      ...[
        'reverse DNS',
        'block lists',
        'outgoing mail',
        'mail host',
        'SPF record',
        'DKIM zone',
        'DNSSEC',
        'TLS and proxy',
        'feedback loops',
      ],
    ]);
    expect(byName(checks)['SPF record']).toMatchObject({
      status: 'skipped',
      message: expect.stringContaining('local mode'),
    });
    expect(byName(checks).workers).toHaveProperty('see', 'docs/production.md#7-watch');
    expect(byName(checks).node).not.toHaveProperty('see');
    const { database, migrations, queue, workers, disk, 'row-level security': rowSecurity } = byName(checks);
    expect(rowSecurity).toMatchObject({ status: 'ok', details: { state: 'on' } });
    expect(database?.details).toEqual({ version: expect.stringMatching(/^\d+/), embedded: false, isReadOnly: false });
    expect(migrations?.details).toEqual({ pending: [] });
    expect(queue?.details).toEqual({ ready: 0, waiting: 0, claimed: 0, oldestReadySeconds: 0 });
    expect(workers).toMatchObject({ status: 'warning', details: { workers: 0 } });
    expect(disk?.details?.freeBytes).toBeGreaterThan(0);
    expect((await cli.run('doctor')).stdout).toMatch(/^check +status +finding\nnode +ok/);
  });

  it('counts the workers that are alive', async () => {
    const insert = 'insert into worker_sessions (id, host, process_id, lease_until) values';
    await query(cli.url, `${insert} (gen_random_uuid(), 'a', 1, now() + interval '1 hour')`);
    await query(cli.url, `${insert} (gen_random_uuid(), 'b', 2, now() - interval '1 hour')`);
    const { checks } = await cli.json<{ checks: Check[] }>('doctor');
    expect(byName(checks).workers).toMatchObject({ status: 'ok', details: { workers: 1 } });
  });

  it('finds pending migrations and applies none of them', async () => {
    await emptyDatabase();
    const { code, message, details } = await cli.failure('doctor');
    expect(code).toBe('unhealthy');
    expect(message).toBe('Something is wrong: migrations');
    const { migrations, queue, workers, 'row-level security': security } = byName(details.checks);
    expect(migrations).toMatchObject({ status: 'problem', details: { pending: NAMES } });
    expect(migrations?.message).toMatch(/^the database is empty: run `waybill migrate`/);
    for (const check of [queue, workers, security]) {
      expect(check).toMatchObject({ status: 'skipped', message: 'needs the migrations' });
    }
    expect(await query(cli.url, `select 1 from pg_tables where schemaname = 'public'`)).toEqual([]);
  });

  it('finds a master key that is not the one', async () => {
    const { id } = await cli.json('org', 'create', 'Encrypted');
    await cli.json('domain', 'add', id, 'encrypted.example.com');
    expect(byName((await cli.json('doctor')).checks)['master key']?.details).toEqual({ opened: 1 });
    const other = { ...cli.environment, MASTER_KEY: randomBytes(32).toString('base64') };
    const { exitCode, stdout, stderr } = await runWith(other, ['doctor']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/master key +problem +it does not open the DKIM keys/);
    expect(stderr).toBe('waybill: Something is wrong: master key\n');
  });

  it('reports that the database is unavailable, and which checks it could not run', async () => {
    const away = { ...cli.environment, DATABASE_URL: 'postgres://u:geheim@127.0.0.1:1/x' };
    const { exitCode, stdout, stderr } = await runWith(away, ['doctor', '--json']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).not.toContain('geheim');
    const checks = byName(JSON.parse(stderr).error.details.checks);
    expect(checks.database).toMatchObject({ status: 'problem', message: expect.stringContaining('ECONNREFUSED') });
    expect(checks.queue).toMatchObject({ status: 'skipped' });
    expect(checks.disk).toMatchObject({ status: 'ok' });
  });

  it('reports an invalid configuration', async () => {
    const { exitCode, stdout } = await runWith({ ...cli.environment, PORT: 'x' }, ['doctor']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/configuration +problem +.*PORT/);
  });
});
