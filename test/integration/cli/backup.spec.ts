import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { DAY, HOUR } from '../../../src/common/clock';
import { type BackupPart, readBackupFile, writeBackupFile } from '../../../src/database/backup/backup-file';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { query } from '../embedded/support';
import { CliKit, type CliResult, runWith } from './cli-kit';

/** Only `Date` is faked. */
const NO_TIMERS = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];

const unchecked = () => Promise.resolve();

let cli: CliKit;
let target: TestDatabase;
let folder: string;
let file: string;
let organizationId: string;
/** At the time of the backup. */
let source: Record<string, unknown>;

beforeAll(async () => {
  cli = await CliKit.create();
  folder = await mkdtemp(path.join(os.tmpdir(), 'waybill-backup-'));
  file = path.join(folder, 'one.backup');
  await fillSource();
  await cli.json('backup', file);
  source = await contentOf(cli.url);
});
afterAll(async () => {
  await cli.destroy();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  target = await createTestDatabase();
});
afterEach(() => target.drop());

/** Rows that are hard to carry: every kind of text, a past month, a month of the future, the audit log, numbers from sequences. */
async function fillSource(): Promise<void> {
  organizationId = (await cli.json('org', 'create', 'Acme "\\N" \\\t\u2028 ü')).id;
  await cli.json('domain', 'add', organizationId, 'acme.example');
  await cli.json('key', 'create', '--org', organizationId, '--mode', 'live', '--scopes', 'all', '--name', 'k');
  await cli.json('suppression', 'add', organizationId, 'gone@example.com', '--notes', 'line 1\nline 2\\.');
  await query(cli.url, `select add_month_partition('email_contents', '2020-02-01', 0)`);
  const idsOf = (time: string) => `overlay(uuid_v7_floor(${time})::text placing lpad(n::text, 12, '0') from 25)::uuid`;
  for (const time of [`'2020-02-10Z'::timestamptz`, 'now()', `'2019-01-01Z'::timestamptz`]) {
    await query(
      cli.url,
      `insert into email_contents (organization_id, mode, email_id, html, text, headers, addressees)
       select '${organizationId}', 'live', ${idsOf(time)}, repeat(E'\\\\.\\n\\t\\\\N "x" ', 5000), nullif(chr(n) || 'ü\u2028', 'z'),
         '{"a": "\\\\"}', '{}' from generate_series(1, 30) n;
       insert into email_attachments (organization_id, mode, email_id, position, filename, content_type, size, content)
       select '${organizationId}', 'live', ${idsOf(time)}, 0, 'a', 'b', 256, decode(repeat('00ff0a5c090d', 20000 + n), 'hex')
       from generate_series(1, 5) n`,
    );
  }
  await query(cli.url, OLD_CONTENT.replace('$org', organizationId));
  await query(cli.url, EMAILS.replaceAll('$org', organizationId));
}

/** Of a month made by a release before 0093, whose columns are in the order of the table, of one of today, and of none. */
const EMAILS = `
  create table emails_2020_03 (like emails including all);
  alter table emails attach partition emails_2020_03
    for values from (uuid_v7_floor('2020-03-01Z')) to (uuid_v7_floor('2020-04-01Z'));
  insert into emails (
    organization_id, mode, id, domain_id, from_email, to_emails, subject, status, category, track_opens,
    track_clicks, event_sequence, created_at, updated_at, sent_at, delivered_at
  )
  select '$org', 'live', uuid_v7_floor(at), gen_random_uuid(), 'a@acme.example', '{b@x.example}', 'At ' || at, 'delivered',
    'transactional', true, false, 7, at, at + interval '1 hour', at + interval '2 hours', at + interval '3 hours'
  from unnest(array['2020-03-10Z', '2019-01-01Z', now()]::timestamptz[]) as at`;

/** As it was written before there was anything that makes rows of its size long enough to be compressed. */
const OLD_CONTENT = `
  insert into email_contents (organization_id, mode, email_id, text, addressees, padding)
  values ('$org', 'test', uuid_v7_floor('2020-02-10Z'), repeat('An ordinary mail. ', 80), '{}', null)`;
const sizeOfOldContent = async (url: string) =>
  (await query<{ size: number }>(url, `select pg_column_size(text) as size from email_contents where mode = 'test'`))[0]
    ?.size;

/** A copy of a backup with other JSON parts. */
async function rewrite(from: string, to: string, change: (value: Record<string, unknown>) => unknown): Promise<void> {
  await rm(to, { force: true });
  async function* changed(): AsyncGenerator<BackupPart> {
    for await (const part of readBackupFile(from)) {
      yield part.type === 'json' ? { type: 'json', value: change(part.value as Record<string, unknown>) } : part;
    }
  }
  await writeBackupFile(to, changed(), unchecked);
}

const restore = (args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<CliResult> =>
  runWith({ ...cli.environment, DATABASE_URL: target.url, ...env }, ['restore', file, ...args]);

/** Everything in a database: each table's rows, its partitions and sequences, in a form that compares. */
async function contentOf(url: string): Promise<Record<string, unknown>> {
  const tables = await query<{ name: string }>(
    url,
    `select c.relname as name from pg_class c
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace and c.relpersistence = 'p'
       and c.relname <> 'schema_migrations' order by 1`,
  );
  const content: Record<string, unknown> = {};
  for (const { name } of tables) {
    content[name] = await query(
      url,
      `select t.tableoid::regclass::text as partition, md5(string_agg(line, '|' order by line)), count(*)::int
       from ${name} t cross join lateral (select (to_jsonb(t) - 'padding')::text as line) l group by 1 order by 1`,
    );
  }
  content.sequences = await query(url, 'select sequencename, last_value from pg_sequences order by 1');
  content.migrations = await query(url, 'select name from schema_migrations order by "timestamp"');
  content.triggers = await query(url, `select tgname, tgenabled from pg_trigger where not tgisinternal order by 1`);
  return content;
}

describe('waybill backup and restore', () => {
  it('bring back every row, partition and number, into an empty database', async () => {
    await query(target.url, 'drop schema public cascade; create schema public');
    const { exitCode, stdout, stderr } = await restore();
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/^file .*\nrows +\d+/s) });
    expect(stderr).toMatch(/organizations: 1 rows\n/);
    expect(await contentOf(target.url)).toEqual(source);
    // Plans are made for what is there from the first request on.
    const counted = `select reltuples::int as rows from pg_class where relname = 'organizations'`;
    expect(await query(target.url, counted)).toEqual([{ rows: 1 }]);
    expect(source.organizations).toMatchObject([{ count: 1 }]);
    expect(source.emails).toHaveLength(3);
    expect((source.migrations as unknown[]).length).toBeGreaterThan(30);
  });

  it('bring rows of before back as they would be written today: ordinary mail is compressed', async () => {
    expect(await sizeOfOldContent(cli.url)).toBeGreaterThan(1_400);
    expect(await restore(['--force'])).toMatchObject({ exitCode: 0 });
    expect(await sizeOfOldContent(target.url)).toBeLessThan(200);
    for await (const part of readBackupFile(file)) {
      if (part.type === 'json') expect(JSON.stringify(part.value)).not.toContain('padding');
    }
  });

  it("date the backup by the database's clock, and record it where there was no data directory", async () => {
    const environment = { ...cli.environment, WAYBILL_DATA_DIR: path.join(folder, 'made', 'for-this') };
    const right = Date.now();
    jest.useFakeTimers({ now: right + 10 * DAY, doNotFake: NO_TIMERS });
    let createdAt: string;
    try {
      const { exitCode, stdout } = await runWith(environment, ['backup', path.join(folder, 'dated.backup'), '--json']);
      expect(exitCode).toBe(0);
      ({ createdAt } = JSON.parse(stdout));
    } finally {
      jest.useRealTimers();
    }
    expect(Math.abs(Date.parse(createdAt) - right)).toBeLessThan(HOUR);
    const { stdout } = await runWith(environment, ['doctor', '--json']);
    expect(stdout).toContain(`the last one is of ${createdAt}`);
  });

  it('make a file for this user only, overwrite none, and record it for the doctor', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file);
    expect((await cli.failure('backup', file)).message).toContain('is there already');
    expect(await readFile(file)).toEqual(before);
    const { checks } = await cli.json('doctor');
    expect(checks.find((check: { name: string }) => check.name === 'backup')).toMatchObject({
      status: 'ok',
      details: { file, createdAt: expect.any(String) },
    });
  });

  it('of two that write the same file one stays, whole, and the other says so', async () => {
    const to = path.join(folder, 'both.backup');
    const part = (value: unknown): BackupPart => ({ type: 'json', value });
    let firstIsDone = (): void => undefined;
    const first = new Promise<void>((resolve) => (firstIsDone = resolve));
    let secondHasBegun = (): void => undefined;
    const second = new Promise<void>((resolve) => (secondHasBegun = resolve));
    async function* slow() {
      yield part('slow');
      secondHasBegun();
      await first;
      yield part('end');
    }
    async function* fast() {
      yield part('fast');
      writing = writeBackupFile(to, slow(), unchecked);
      writing.catch(() => undefined);
      await second;
      yield part('end');
    }
    let writing: Promise<unknown> | undefined;
    await writeBackupFile(to, fast(), unchecked);
    const found: unknown[] = [];
    for await (const read of readBackupFile(to)) found.push(read);
    firstIsDone();
    await expect(writing).rejects.toThrow('is there already');
    expect(found).toEqual([part('fast'), part('end')]);
    expect((await readdir(folder)).filter((name) => name.startsWith('both'))).toEqual(['both.backup']);
  });

  it('leave no file when it cannot be read again', async () => {
    const to = path.join(folder, 'bad.backup');
    const parts = Readable.from([{ type: 'json', value: 1 }]) as AsyncIterable<BackupPart>;
    const found: string[] = [];
    const check = async () => {
      found.push(...(await readdir(folder)).filter((name) => name.startsWith('bad')));
      throw new Error('unreadable');
    };
    await expect(writeBackupFile(to, parts, check)).rejects.toThrow('unreadable');
    expect(found).toEqual([expect.stringMatching(/^bad\.backup\.\w+\.partial$/)]);
    expect((await readdir(folder)).filter((name) => name.startsWith('bad'))).toEqual([]);
  });

  it('say what is wrong with the folder or the pass phrase that is named', async () => {
    const none = path.join(folder, 'none');
    const missing = { code: 'invalid_request', message: `The folder ${none} does not exist: make it first` };
    expect(await cli.failure('backup', path.join(none, 'x'))).toEqual(missing);
    expect((await cli.failure('backup', path.join(file, 'x'))).message).toBe(`The folder ${file} is no directory`);
    const secret = ['--with-master-key', '--passphrase-file', none];
    expect((await cli.failure('backup', none, ...secret)).message).toContain(
      '--passphrase-file cannot be read: ENOENT',
    );
  });

  it('take a link for a file, also one that leads nowhere', async () => {
    const to = path.join(folder, 'link.backup');
    await symlink(path.join(folder, 'nowhere'), to);
    expect((await cli.failure('backup', to)).message).toContain('is there already');
  });

  it('replace data only when forced, and keep nothing of it then', async () => {
    await query(target.url, `insert into organizations (id, name) values (gen_random_uuid(), 'Other')`);
    expect(await restore()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('give --force') });
    expect(await query(target.url, 'select name from organizations')).toEqual([{ name: 'Other' }]);
    expect(await restore(['--force'])).toMatchObject({ exitCode: 0 });
    expect(await contentOf(target.url)).toEqual(source);
  });

  it('are refused where the search_path leads past the tables: one of nothing, one beside what is there', async () => {
    const name = new URL(target.url).pathname.slice(1);
    await query(target.url, `create schema aside; alter database ${name} set search_path = aside`);
    const nothing = path.join(folder, 'of-nothing.backup');
    const sentence = 'the tables are in the schema public, and the `search_path` leads to the schema aside first';
    try {
      const backup = await runWith({ ...cli.environment, DATABASE_URL: target.url }, ['backup', nothing]);
      expect(backup).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`backed up: ${sentence}`) });
      expect(await readdir(folder)).not.toContain('of-nothing.backup');
      const restored = await restore(['--force']);
      expect(restored).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`restored: ${sentence}`) });
      expect(await query(target.url, `select from pg_tables where schemaname = 'aside'`)).toEqual([]);
    } finally {
      await query(target.url, `alter database ${name} reset search_path; drop schema aside`);
    }
  });

  it('refuse while a process of the service is connected, and a database of something else', async () => {
    const service = new Client({ connectionString: target.url, application_name: 'waybill-health' });
    await service.connect();
    const busy = await restore(['--force']);
    await service.end();
    expect(busy).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/The service is running: 1 sessions .* Stop all/),
    });
    await query(target.url, 'drop schema public cascade; create schema public; create table theirs (id int)');
    expect(await restore(['--force'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('something else'),
    });
    expect(await query(target.url, 'select * from theirs')).toEqual([]);
  });

  it.each([
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 100)],
    ['altered', (bytes: Buffer) => Buffer.from(bytes).fill(0x55, bytes.length >> 1, (bytes.length >> 1) + 8)],
    ['something else', () => Buffer.from('-- PostgreSQL database dump')],
    ['empty', () => Buffer.alloc(0)],
  ])('leave the database alone when the file is %s', async (_how, damage) => {
    const damaged = path.join(folder, 'damaged.backup');
    await writeFile(damaged, damage(await readFile(file)));
    await query(target.url, `insert into organizations (id, name) values (gen_random_uuid(), 'Other')`);
    const env = { ...cli.environment, DATABASE_URL: target.url };
    const { exitCode, stderr } = await runWith(env, ['restore', damaged, '--force', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(damaged),
    });
    expect(await query(target.url, 'select name from organizations')).toEqual([{ name: 'Other' }]);
  });

  it('name what cannot be read', async () => {
    const env = { ...cli.environment, DATABASE_URL: target.url };
    for (const given of [folder, path.join(folder, 'none.backup')]) {
      expect(await runWith(env, ['restore', given])).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining(`Cannot read ${given}: `),
      });
    }
  });

  it('leave the database as it was when the restore fails half-way', async () => {
    await query(target.url, `insert into organizations (id, name) values (gen_random_uuid(), 'Other')`);
    const before = await contentOf(target.url);
    const wrong = path.join(folder, 'wrong.backup');
    await rewrite(file, wrong, (value) =>
      value.kind === 'header'
        ? {
            ...value,
            sequences: [...(value.sequences as unknown[]), { name: 'no_such', lastValue: '1', isCalled: true }],
          }
        : value,
    );
    const env = { ...cli.environment, DATABASE_URL: target.url };
    expect(await runWith(env, ['restore', wrong, '--force'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('no_such'),
    });
    expect(await contentOf(target.url)).toEqual(before);
  });

  it('name a later format, and what keeps a restore from its tables', async () => {
    const later = path.join(folder, 'later.backup');
    await writeFile(later, gzipSync('WAYBILL-BACKUP 2\n'));
    const env = { ...cli.environment, DATABASE_URL: target.url };
    expect((await runWith(env, ['restore', later])).stderr).toContain('has the format of a later release');
    const session = new Client({ connectionString: target.url });
    await session.connect();
    await session.query('begin; lock table emails in share mode');
    expect(await restore(['--force'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('`waybill connections end <pid>` ends it'),
    });
    await session.end();
  });

  it('name the release that a newer backup needs', async () => {
    const newer = path.join(folder, 'newer.backup');
    await rewrite(file, newer, (value) =>
      value.kind === 'header'
        ? { ...value, release: '99.0.0', migrations: [...(value.migrations as string[]), 'FromTheFuture9999999999999'] }
        : value,
    );
    const env = { ...cli.environment, DATABASE_URL: target.url };
    expect(await runWith(env, ['restore', newer])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('restore it with release 99.0.0 or later'),
    });
  });

  it('are of one moment, while the service writes on', async () => {
    const other = path.join(folder, 'moment.backup');
    let stop = false;
    // Two rows in each transaction: a moment has an even number.
    const pair = `insert into organizations (id, name) values (gen_random_uuid(), 'even'), (gen_random_uuid(), 'even')`;
    await query(cli.url, pair);
    const writing = (async () => {
      while (!stop) await query(cli.url, pair);
    })();
    try {
      await cli.json('backup', other);
    } finally {
      stop = true;
      await writing;
    }
    const env = { ...cli.environment, DATABASE_URL: target.url };
    expect(await runWith(env, ['restore', other])).toMatchObject({ exitCode: 0 });
    const [found] = await query<{ even: number }>(
      target.url,
      `select count(*)::int as even from organizations where name = 'even'`,
    );
    expect(found?.even).toBeGreaterThanOrEqual(2);
    expect((found?.even ?? 1) % 2).toBe(0);
    await query(cli.url, `delete from organizations where name = 'even'`);
  });
});

describe('the master key of a backup', () => {
  const passphrase = 'correct horse battery staple';
  let withKey: string;
  let passphraseFile: string;
  const otherKey = randomBytes(32).toString('base64');
  const key = () => cli.environment.MASTER_KEY ?? '';
  const restoreKey = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    runWith({ ...cli.environment, DATABASE_URL: target.url, ...env }, [
      ...['restore', withKey, '--with-master-key', '--passphrase-file', passphraseFile],
      ...args,
    ]);
  beforeAll(async () => {
    withKey = path.join(folder, 'key.backup');
    passphraseFile = path.join(folder, 'passphrase');
    await writeFile(passphraseFile, `${passphrase}\n`);
    await cli.json('backup', withKey, '--with-master-key', '--passphrase-file', passphraseFile);
  });

  it('is in the file under the pass phrase only', async () => {
    let text = '';
    for await (const part of readBackupFile(withKey)) text += part.type === 'json' ? JSON.stringify(part.value) : '';
    expect(text).toContain('"kdf":"scrypt"');
    expect(text).not.toContain(key());
    expect(text).not.toContain(passphrase);
  });

  it('goes where the operator wants it, and has to go somewhere', async () => {
    const out = path.join(folder, 'restored.key');
    const refused = await restoreKey([], { MASTER_KEY: otherKey });
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--master-key-out') });
    expect(await restoreKey(['--master-key-out', out], { MASTER_KEY: undefined })).toMatchObject({ exitCode: 0 });
    expect((await readFile(out, 'utf8')).trim()).toBe(key());
    expect((await stat(out)).mode & 0o777).toBe(0o600);
  });

  it('is not opened by another pass phrase, a short one, or without a file', async () => {
    const wrong = path.join(folder, 'wrong-passphrase');
    const backupWith = (...args: string[]) => cli.failure('backup', path.join(folder, 'never'), ...args);
    await writeFile(wrong, 'another pass phrase');
    const args = ['restore', withKey, '--with-master-key', '--passphrase-file', wrong];
    expect((await cli.failure(...args)).message).toBe('The pass phrase is not the one');
    await writeFile(wrong, 'short');
    expect((await backupWith('--with-master-key', '--passphrase-file', wrong)).message).toContain('at least 12');
    expect((await backupWith('--with-master-key')).message).toContain('belong together');
    expect((await backupWith('--with-master-key', '--passphrase-file', path.join(folder, 'none'))).message).toContain(
      'ENOENT',
    );
  });

  it('is the one of the database, and alone opens everything when it is in the file', async () => {
    const never = path.join(folder, 'never');
    const withKeys = (env: NodeJS.ProcessEnv, ...args: string[]) =>
      runWith({ ...cli.environment, ...env }, ['backup', never, ...args]);
    const included = ['--with-master-key', '--passphrase-file', passphraseFile];
    for (const args of [[], included]) {
      expect(await withKeys({ MASTER_KEY: otherKey }, ...args)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('MASTER_KEY is not the key of this database'),
      });
    }
    // In a change of the key, before `waybill keys re-encrypt`.
    const changing = { MASTER_KEY: otherKey, MASTER_KEY_PREVIOUS: key() };
    expect(await withKeys(changing, ...included)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('re-encrypt'),
    });
    expect((await readdir(folder)).filter((name) => name.startsWith('never'))).toEqual([]);
    expect(await withKeys(changing)).toMatchObject({ exitCode: 0 });
    await rm(never);
  });

  it('has to be the one of the installation otherwise', async () => {
    const { exitCode, stderr } = await restore([], { MASTER_KEY: otherKey });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('another master key') });
    expect(await restore([], { MASTER_KEY: otherKey, MASTER_KEY_PREVIOUS: key() })).toMatchObject({ exitCode: 0 });
  });
});
