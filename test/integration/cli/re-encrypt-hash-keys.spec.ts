import { randomBytes } from 'node:crypto';
import { newId } from '../../../src/common/ids';
import { hashKeyring } from '../../../src/modules/suppressions/address-hashing.service';
import { query } from '../embedded/support';
import { CliKit, runWith } from './cli-kit';

const ringUnder = (masterKey: string) => hashKeyring({ masterKey: Buffer.from(masterKey, 'base64') });

describe('waybill keys rewrap, of what erased addresses are hashed with', () => {
  let cli: CliKit;
  let present: string;
  beforeEach(async () => {
    cli = await CliKit.create();
    present = cli.environment.MASTER_KEY ?? '';
  });
  afterEach(() => cli.destroy());

  const rows = () =>
    query<{ id: string; secret: Buffer }>(
      cli.url,
      'select organization_id as id, secret from suppression_hash_keys order by organization_id',
    );
  async function insert(plain: Buffer, masterKey = present): Promise<string> {
    const id = newId();
    const sealed = ringUnder(masterKey).encrypt(plain, id).toString('hex');
    await query(cli.url, `insert into suppression_hash_keys values ('${id}', '\\x${sealed}', now())`);
    return id;
  }

  it('leaves them the same under the new master key', async () => {
    const plain = [randomBytes(32), randomBytes(32)];
    for (const key of plain) await insert(key);
    const MASTER_KEY = randomBytes(32).toString('base64');
    const rewrap = async () => {
      const env = { ...cli.environment, MASTER_KEY, MASTER_KEY_PREVIOUS: present };
      return JSON.parse((await runWith(env, ['keys', 'rewrap', '--json'])).stdout);
    };
    expect(await rewrap()).toMatchObject({ hashKeys: 2, hashKeysResealed: 2 });
    expect(await rewrap()).toMatchObject({ hashKeys: 2, hashKeysResealed: 0 });
    const opened = (await rows()).map(({ id, secret }) => ringUnder(MASTER_KEY).decrypt(secret, id));
    expect(opened).toEqual(plain);
  });

  it('refuses, and changes nothing, when one decrypts under neither', async () => {
    await insert(randomBytes(32));
    const closed = await insert(randomBytes(32), randomBytes(32).toString('base64'));
    const before = await rows();
    const error = await cli.failure('keys', 'rewrap');
    expect(error.message).toBe('1 of 2 hash keys open under neither master key; nothing has been changed');
    expect(error.details).toEqual({ hashKeys: 2, closed: 1, organizations: [closed] });
    expect(await rows()).toEqual(before);
  });
});
