import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { deriveEncryptionKey, keyIdOf } from '../../../src/common/encryption/encryption';
import type { AppConfig } from '../../../src/config/config';
import { loadConfig } from '../../../src/config/load-config';
import { DkimKeyring } from '../../../src/modules/domains/dkim/dkim-keyring';
import { EmbeddedWorkshop, query } from '../embedded/support';
import { waitFor } from '../../setup/wait-for';
import { CliKit, type CliResult, runWith } from './cli-kit';

interface KeyRow {
  organizationId: string;
  domainId: string;
  selector: string;
  encrypted: Buffer;
}

const NO_OTHERS = {
  ...{ webhooks: 0, webhooksReEncrypted: 0, privacyRecords: 0, privacyRecordsReEncrypted: 0 },
  ...{ hashKeys: 0, hashKeysReEncrypted: 0 },
};
const newKey = (): string => randomBytes(32).toString('base64');
const keyringOf = (config: Pick<AppConfig, 'masterKey'>) => new DkimKeyring(config as AppConfig);
const idOf = (key: string): number => deriveEncryptionKey(Buffer.from(key, 'base64'), 'dkim-private-keys').id;

function readKeys(url: string): Promise<KeyRow[]> {
  return query(
    url,
    `select organization_id as "organizationId", domain_id as "domainId", selector, private_key_sealed as encrypted
     from dkim_keys order by domain_id`,
  );
}

describe('waybill keys re-encrypt', () => {
  let cli: CliKit;
  let organizationId: string;
  let folder: string;
  beforeAll(async () => {
    cli = await CliKit.create();
    organizationId = (await cli.json('org', 'create', 'Encrypted')).id;
    for (const name of ['one', 'two', 'three']) await cli.json('domain', 'add', organizationId, `${name}.example.com`);
    await query(cli.url, 'create table first_keys as table dkim_keys');
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'waybill-re-encrypt-'));
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await query(
      cli.url,
      `delete from dkim_keys; insert into dkim_keys select * from first_keys;
       delete from domains where id not in (select domain_id from first_keys)`,
    );
  });
  afterAll(() => cli.destroy());

  const run = (env: NodeJS.ProcessEnv, ...args: string[]) => runWith({ ...cli.environment, ...env }, args);
  const value = ({ stdout, stderr }: CliResult): unknown => (stdout ? JSON.parse(stdout) : stderr);
  const plainKeys = async (masterKey: string): Promise<string[]> => {
    const keyring = keyringOf({ masterKey: Buffer.from(masterKey, 'base64') });
    return (await readKeys(cli.url)).map((row) => keyring.decrypt(row.encrypted, row).toString('hex'));
  };
  const copyKeys = (count: number) =>
    query(
      cli.url,
      `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key, state)
       select organization_id, domain_id, 'copy' || n, private_key_sealed, public_key, 'retiring'
       from (select * from dkim_keys limit 1) k, generate_series(1, ${count}) n`,
    );

  it('encrypts every key again under the new master key, and does not change its content', async () => {
    const [before, replacement] = [cli.environment.MASTER_KEY ?? '', newKey()];
    const plain = await plainKeys(before);
    writeFileSync(join(folder, 'new.key'), `${replacement}\n`);
    const report = await cli.json('keys', 're-encrypt', '--new-key', join(folder, 'new.key'));
    expect(report).toEqual({ keys: 3, reEncrypted: 3, ...NO_OTHERS, fileReplaced: false });
    expect(await plainKeys(replacement)).toEqual(plain);
    await expect(plainKeys(before)).rejects.toThrow('Encrypted with another key');
    expect(value(await run({ MASTER_KEY: replacement }, 'doctor', '--json'))).toMatchObject({ healthy: true });
    expect((await run({}, 'doctor')).stdout).toMatch(/master key +problem/);
  });

  it('works while processes with both keys run, and ends when nothing is left to do', async () => {
    const [before, replacement] = [cli.environment.MASTER_KEY ?? '', newKey()];
    const both = { MASTER_KEY: replacement, MASTER_KEY_PREVIOUS: before };
    expect(value(await run(both, 'doctor', '--json'))).toMatchObject({ healthy: true });
    await run(both, 'domain', 'add', organizationId, 'meanwhile.example.com');
    expect(value(await run(both, 'keys', 're-encrypt', '--json'))).toEqual({
      keys: 4,
      reEncrypted: 3,
      ...NO_OTHERS,
      fileReplaced: false,
    });
    expect(value(await run(both, 'keys', 're-encrypt', '--json'))).toEqual({
      keys: 4,
      reEncrypted: 0,
      ...NO_OTHERS,
      fileReplaced: false,
    });
    expect(await plainKeys(replacement)).toHaveLength(4);
    expect((await run(both, 'keys', 're-encrypt')).stdout).toMatch(/keys +4\nreEncrypted +0/);
  });

  it('continues where it was interrupted', async () => {
    const [before, replacement] = [cli.environment.MASTER_KEY ?? '', newKey()];
    const plain = await plainKeys(before);
    const [old, renewed] = [before, replacement].map((key) => keyringOf({ masterKey: Buffer.from(key, 'base64') }));
    const [first] = await readKeys(cli.url);
    await query(
      cli.url,
      `update dkim_keys set private_key_sealed = '\\x${renewed!.encrypt(old!.decrypt(first!.encrypted, first!), first!).toString('hex')}'
       where domain_id = '${first!.domainId}'`,
    );
    const report = value(
      await run({ REPLACEMENT: replacement }, 'keys', 're-encrypt', '--new-key', 'env:REPLACEMENT', '--json'),
    );
    expect(report).toMatchObject({ keys: 3, reEncrypted: 2 });
    expect(await plainKeys(replacement)).toEqual(plain);
  });

  it('refuses, and changes nothing, when a key decrypts under neither', async () => {
    await copyKeys(1);
    const before = await readKeys(cli.url);
    const error = await cli.failure('keys', 're-encrypt');
    expect(error.message).toContain('1 of 4 DKIM keys decrypt under neither master key; nothing has been changed');
    expect(error.details).toMatchObject({ keys: 4, unreadable: 1, domains: [expect.stringMatching(/\/copy1$/)] });
    writeFileSync(join(folder, 'new.key'), newKey());
    // By its former name.
    await cli.failure('keys', 'rewrap', '--new-key', join(folder, 'new.key'));
    expect(value(await run({ MASTER_KEY: newKey() }, 'keys', 're-encrypt'))).toContain(
      '4 of 4 DKIM keys decrypt under neither',
    );
    expect(await readKeys(cli.url)).toEqual(before);
  });

  it('goes through any number of keys', async () => {
    const keyring = keyringOf({ masterKey: Buffer.from(cli.environment.MASTER_KEY ?? '', 'base64') });
    await copyKeys(250);
    for (const row of (await readKeys(cli.url)).filter(({ selector }) => selector.startsWith('copy'))) {
      await query(
        cli.url,
        `update dkim_keys set private_key_sealed = '\\x${keyring.encrypt(Buffer.from('key'), row).toString('hex')}'
         where domain_id = '${row.domainId}' and selector = '${row.selector}'`,
      );
    }
    const replacement = newKey();
    const report = value(await run({ NEW: replacement }, 'keys', 're-encrypt', '--new-key', 'env:NEW', '--json'));
    expect(report).toMatchObject({ keys: 253, reEncrypted: 253 });
    expect(new Set((await readKeys(cli.url)).map(({ encrypted }) => keyIdOf(encrypted)))).toEqual(
      new Set([idOf(replacement)]),
    );
  });

  it.each([
    ['a file that is not there', () => join(folder, 'none.key'), 'ENOENT'],
    ['a variable that is not set', () => 'env:NONE', 'NONE must hold 32 bytes in base64'],
  ])('reports the error in %s', async (_what, source, message) => {
    const error = await cli.failure('keys', 're-encrypt', '--new-key', source());
    expect(error).toMatchObject({ code: 'invalid_configuration', message: expect.stringContaining(message) });
  });

  it('never shows a malformed key', async () => {
    writeFileSync(join(folder, 'new.key'), 'geheim');
    const { stderr } = await cli.run('keys', 're-encrypt', '--new-key', join(folder, 'new.key'));
    expect(stderr).toContain('must hold 32 bytes in base64');
    expect(stderr).not.toContain('geheim');
  });
});

describe('waybill keys re-encrypt on the embedded database', () => {
  const workshop = new EmbeddedWorkshop();
  afterEach(() => workshop.stopServers());
  afterAll(() => workshop.cleanUp());

  it('replaces the key file, and keeps the key before it', async () => {
    const dataDir = await workshop.newDataDir();
    const env = { WAYBILL_DATA_DIR: dataDir };
    const json = async (...args: string[]): Promise<any> => {
      const { stdout, stderr } = await runWith(env, [...args, '--json']);
      expect(stderr).toBe('');
      return JSON.parse(stdout);
    };
    // As a service does it: the key first.
    loadConfig(env);
    const { url } = await workshop.start(dataDir);
    const { id } = await json('org', 'create', 'Alone');
    await json('domain', 'add', id, 'one.example.com');
    const before = readFileSync(join(dataDir, 'master.key'), 'utf8');

    const replacement = newKey();
    writeFileSync(join(dataDir, 'new.key'), replacement);
    const service = new Client({ connectionString: url, application_name: 'waybill' });
    await service.connect();
    const refused = await runWith(env, ['keys', 're-encrypt', '--new-key', join(dataDir, 'new.key')]);
    expect(refused).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('The service is running: 1 sessions'),
    });
    expect(readFileSync(join(dataDir, 'master.key'), 'utf8')).toBe(before);
    await service.end();
    const sessions = () => query(url, `select from pg_stat_activity where application_name = 'waybill'`);
    await waitFor(async () => (await sessions()).length === 0, { what: 'the end of the session' });

    const report = await json('keys', 're-encrypt', '--new-key', join(dataDir, 'new.key'));
    expect(report).toEqual({ keys: 1, reEncrypted: 1, ...NO_OTHERS, fileReplaced: true });
    expect(readFileSync(join(dataDir, 'master.key'), 'utf8')).toBe(`${replacement}\n`);
    expect(readFileSync(join(dataDir, 'master.key.previous'), 'utf8')).toBe(before);
    for (const file of ['master.key', 'master.key.previous']) {
      expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);
    }
    const config = loadConfig(env);
    expect(config.previousMasterKey?.toString('base64')).toBe(before.trim());
    const [row] = await readKeys(url);
    expect(keyringOf({ masterKey: config.masterKey }).decrypt(row!.encrypted, row!).length).toBeGreaterThan(1_000);
    expect(await json('doctor')).toMatchObject({ healthy: true });
    expect(await json('keys', 're-encrypt')).toEqual({ keys: 1, reEncrypted: 0, ...NO_OTHERS, fileReplaced: false });
  });
});
