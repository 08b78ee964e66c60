import { randomBytes } from 'node:crypto';
import { newId } from '../../../src/common/ids';
import type { AppConfig } from '../../../src/config/config';
import { WebhookSecrets } from '../../../src/modules/webhooks/webhook-secrets.service';
import { FakeClock } from '../../doubles/fake-clock';
import { query } from '../embedded/support';
import { CliKit, runWith } from './cli-kit';

interface Row {
  organizationId: string;
  mode: 'live';
  id: string;
  secret: Buffer;
  previousSecret: Buffer | null;
}

const secretsUnder = (masterKey: string) =>
  new WebhookSecrets(
    { masterKey: Buffer.from(masterKey, 'base64') } as Partial<AppConfig> as AppConfig,
    new FakeClock(),
  );
const hex = (bytes: Buffer) => `'\\x${bytes.toString('hex')}'::bytea`;

describe('waybill keys rewrap, of webhook secrets', () => {
  let cli: CliKit;
  let present: string;
  beforeEach(async () => {
    cli = await CliKit.create();
    present = cli.environment.MASTER_KEY ?? '';
  });
  afterEach(() => cli.destroy());

  const rows = () =>
    query<Row>(
      cli.url,
      `select organization_id as "organizationId", mode, id, secret, previous_secret as "previousSecret"
       from webhook_endpoints order by id`,
    );
  const plain = async (masterKey: string) => {
    const secrets = secretsUnder(masterKey);
    return (await rows()).map((row) =>
      [row.secret, row.previousSecret].map((sealed) => sealed && secrets.decrypt(sealed, row).toString()),
    );
  };
  async function insert(previous: string | null, masterKey = present): Promise<string> {
    const secrets = secretsUnder(masterKey);
    const owner = { organizationId: newId(), mode: 'live', id: newId() };
    const sealed = previous === null ? 'null' : hex(secrets.encrypt(Buffer.from(previous), owner));
    await query(
      cli.url,
      `insert into webhook_endpoints (
         organization_id, mode, id, url, events, enabled, secret, previous_secret, position, created_at, updated_at
       )
       values ('${owner.organizationId}', 'live', '${owner.id}', 'https://x.example/', '{*}', true,
         ${hex(secrets.encrypt(Buffer.from('secret'), owner))}, ${sealed}, '${owner.id}', now(), now())`,
    );
    return owner.id;
  }

  it('encrypts them again under the new master key, those before them too', async () => {
    for (const previous of [null, 'before', null]) await insert(previous);
    const replacement = randomBytes(32).toString('base64');
    const rewrap = async (env: NodeJS.ProcessEnv) => {
      const { stdout } = await runWith({ ...cli.environment, ...env }, ['keys', 'rewrap', '--json']);
      return JSON.parse(stdout);
    };
    const both = { MASTER_KEY: replacement, MASTER_KEY_PREVIOUS: present };
    const others = {
      keys: 0,
      resealed: 0,
      privacyRecords: 0,
      privacyRecordsResealed: 0,
      hashKeys: 0,
      hashKeysResealed: 0,
    };
    const report = { ...others, webhooks: 3, fileReplaced: false };
    expect(await rewrap(both)).toEqual({ ...report, webhooksResealed: 3 });
    expect(await plain(replacement)).toEqual([
      ['secret', null],
      ['secret', 'before'],
      ['secret', null],
    ]);
    expect(await rewrap(both)).toEqual({ ...report, webhooksResealed: 0 });
    expect(await rewrap({ MASTER_KEY: replacement })).toEqual({ ...report, webhooksResealed: 0 });
  });

  it('goes through any number of them', async () => {
    for (let n = 0; n < 120; n += 1) await insert('before');
    const MASTER_KEY = randomBytes(32).toString('base64');
    const { stdout } = await runWith({ ...cli.environment, MASTER_KEY, MASTER_KEY_PREVIOUS: present }, [
      ...['keys', 'rewrap', '--json'],
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ webhooks: 120, webhooksResealed: 120 });
    expect(await plain(MASTER_KEY)).toHaveLength(120);
  });

  it('refuses, and changes nothing, when one decrypts under neither', async () => {
    await insert('before');
    const closed = await insert(null, randomBytes(32).toString('base64'));
    const before = await rows();
    const error = await cli.failure('keys', 'rewrap');
    expect(error.message).toBe('1 of 2 webhook secrets open under neither master key; nothing has been changed');
    expect(error.details).toEqual({ webhooks: 2, closed: 1, ids: [closed] });
    expect(await rows()).toEqual(before);
  });
});
