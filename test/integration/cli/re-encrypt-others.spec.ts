import { randomBytes } from 'node:crypto';
import { masterKeyId } from '../../../src/common/encryption/encryption';
import { newId } from '../../../src/common/ids';
import type { AppConfig } from '../../../src/config/config';
import { PrivacyKeyring } from '../../../src/modules/privacy/requests/privacy-keyring.service';
import { hashKeyring } from '../../../src/modules/suppressions/address-hashing.service';
import { WebhookSecrets } from '../../../src/modules/webhooks/endpoints/webhook-secrets.service';
import { FakeClock } from '../../doubles/fake-clock';
import { query } from '../embedded/support';
import { CliKit, runWith } from './cli-kit';

const newKey = (): string => randomBytes(32).toString('base64');
const configWith = (masterKey: string) =>
  ({ masterKey: Buffer.from(masterKey, 'base64') }) as Partial<AppConfig> as AppConfig;
const hex = (bytes: Buffer) => `'\\x${bytes.toString('hex')}'::bytea`;

/** What is encrypted under the master key besides DKIM keys. */
describe('waybill keys re-encrypt', () => {
  let cli: CliKit;
  let present: string;
  beforeEach(async () => {
    cli = await CliKit.create();
    present = cli.environment.MASTER_KEY ?? '';
  });
  afterEach(() => cli.destroy());

  /** Under this master key, and the present one before it. */
  const reEncrypt = (masterKey: string) => reEncryptWith({ MASTER_KEY: masterKey, MASTER_KEY_PREVIOUS: present });
  const reEncryptAlone = (masterKey: string) => reEncryptWith({ MASTER_KEY: masterKey });
  const reEncryptWith = async (keys: NodeJS.ProcessEnv) =>
    JSON.parse((await runWith({ ...cli.environment, ...keys }, ['keys', 're-encrypt', '--json'])).stdout);

  describe('of webhook secrets', () => {
    interface Row {
      organizationId: string;
      mode: 'live';
      id: string;
      secret: Buffer;
      previousSecret: Buffer | null;
    }

    const secretsUnder = (masterKey: string) => new WebhookSecrets(configWith(masterKey), new FakeClock());
    const rows = () =>
      query<Row>(
        cli.url,
        `select organization_id as "organizationId", mode, id, secret, previous_secret as "previousSecret"
         from webhook_endpoints order by id`,
      );
    const plain = async (masterKey: string) => {
      const secrets = secretsUnder(masterKey);
      return (await rows()).map((row) =>
        [row.secret, row.previousSecret].map((encrypted) => encrypted && secrets.decrypt(encrypted, row).toString()),
      );
    };
    async function insert(previous: string | null, masterKey = present): Promise<string> {
      const secrets = secretsUnder(masterKey);
      const owner = { organizationId: newId(), mode: 'live', id: newId() };
      const encrypted = previous === null ? 'null' : hex(secrets.encrypt(Buffer.from(previous), owner));
      await query(
        cli.url,
        `insert into webhook_endpoints (
           organization_id, mode, id, url, events, enabled, secret, previous_secret, position, created_at, updated_at
         )
         values ('${owner.organizationId}', 'live', '${owner.id}', 'https://x.example/', '{*}', true,
           ${hex(secrets.encrypt(Buffer.from('secret'), owner))}, ${encrypted}, '${owner.id}', now(), now())`,
      );
      return owner.id;
    }

    it('encrypts them again under the new master key, those before them too', async () => {
      for (const previous of [null, 'before', null]) await insert(previous);
      const replacement = newKey();
      const others = {
        ...{ keys: 0, reEncrypted: 0, privacyRecords: 0, privacyRecordsReEncrypted: 0 },
        ...{ hashKeys: 0, hashKeysReEncrypted: 0 },
      };
      const report = { ...others, webhooks: 3, fileReplaced: false };
      expect(await reEncrypt(replacement)).toEqual({ ...report, webhooksReEncrypted: 3 });
      expect(await plain(replacement)).toEqual([
        ['secret', null],
        ['secret', 'before'],
        ['secret', null],
      ]);
      expect(await reEncrypt(replacement)).toEqual({ ...report, webhooksReEncrypted: 0 });
      expect(await reEncryptAlone(replacement)).toEqual({ ...report, webhooksReEncrypted: 0 });
      const recorded = await query(cli.url, 'select key_id::text as id from master_key_record');
      expect(recorded).toEqual([{ id: `${masterKeyId(Buffer.from(replacement, 'base64'))}` }]);
    });

    it('goes through any number of them', async () => {
      for (let n = 0; n < 120; n += 1) await insert('before');
      const replacement = newKey();
      expect(await reEncrypt(replacement)).toMatchObject({ webhooks: 120, webhooksReEncrypted: 120 });
      expect(await plain(replacement)).toHaveLength(120);
    });

    it('refuses, and changes nothing, when one decrypts under neither', async () => {
      await insert('before');
      const unreadable = await insert(null, newKey());
      const before = await rows();
      const error = await cli.failure('keys', 're-encrypt');
      expect(error.message).toContain(
        '1 of 2 webhook secrets decrypt under neither master key; nothing has been changed',
      );
      expect(error.details).toEqual({ webhooks: 2, unreadable: 1, ids: [unreadable] });
      expect(await rows()).toEqual(before);
    });
  });

  describe('of privacy requests', () => {
    const ADA = { email: 'ada@example.com', reason: 'asked by letter' };
    const keyringUnder = (masterKey: string) => new PrivacyKeyring(configWith(masterKey));

    /** A request and a part of its result. Returns its key. */
    async function insert(masterKey = present) {
      const [keyring, key] = [keyringUnder(masterKey), { organizationId: newId(), mode: 'live' as const, id: newId() }];
      const part = { ...key, section: 'emails' as const, part: 0 };
      await query(
        cli.url,
        `insert into privacy_requests (organization_id, mode, id, type, subject, masked_email, subject_hash, status, requested_at)
         values ('${key.organizationId}', 'live', '${key.id}', 'article_15_access', ${hex(keyring.encryptSubject(ADA, key))},
           'a***@example.com', ${hex(keyring.hashOf(ADA.email))}, 'completed', now());
         insert into privacy_export_parts (organization_id, mode, request_id, section, part, content)
         values ('${key.organizationId}', 'live', '${key.id}', 'emails', 0, ${hex(keyring.encryptPart(Buffer.from('text'), part))})`,
      );
      return part;
    }

    const rows = () =>
      query<{ id: string; subject: Buffer; hash: Buffer; content: Buffer }>(
        cli.url,
        `select r.id, r.subject, r.subject_hash as hash, p.content
         from privacy_requests r join privacy_export_parts p on p.request_id = r.id order by r.id`,
      );

    it('encrypts subjects and results again, and renews the hashes that find them', async () => {
      const keys = [await insert(), await insert(), await insert()];
      const replacement = newKey();
      expect(await reEncrypt(replacement)).toMatchObject({ privacyRecords: 6, privacyRecordsReEncrypted: 6 });
      const keyring = keyringUnder(replacement);
      for (const [index, { subject, hash, content }] of (await rows()).entries()) {
        const key = keys[index] as (typeof keys)[number];
        expect(keyring.decryptSubject(subject, key)).toEqual(ADA);
        expect(keyring.decryptPart(content, key).toString()).toBe('text');
        expect(hash).toEqual(keyring.hashOf(ADA.email));
      }
      expect(await reEncrypt(replacement)).toMatchObject({ privacyRecords: 6, privacyRecordsReEncrypted: 0 });
      expect(await reEncryptAlone(replacement)).toMatchObject({ privacyRecords: 6, privacyRecordsReEncrypted: 0 });
    });

    it('refuses, and changes nothing, when one decrypts under neither', async () => {
      await insert();
      const { id } = await insert(newKey());
      const before = await rows();
      const error = await cli.failure('keys', 're-encrypt');
      expect(error.message).toContain(
        '2 of 4 privacy records decrypt under neither master key; nothing has been changed',
      );
      expect(error.details).toEqual({ privacyRecords: 4, unreadable: 2, ids: [id, id] });
      expect(await rows()).toEqual(before);
    });
  });

  describe('of the keys that erased addresses are hashed with', () => {
    const keyringUnder = (masterKey: string) => hashKeyring(configWith(masterKey));
    const rows = () =>
      query<{ id: string; secret: Buffer }>(
        cli.url,
        'select organization_id as id, secret from suppression_hash_keys order by organization_id',
      );
    async function insert(plain: Buffer, masterKey = present): Promise<string> {
      const id = newId();
      const encrypted = hex(keyringUnder(masterKey).encrypt(plain, id));
      await query(cli.url, `insert into suppression_hash_keys values ('${id}', ${encrypted}, now())`);
      return id;
    }

    it('leaves them the same under the new master key', async () => {
      const plain = [randomBytes(32), randomBytes(32)];
      for (const key of plain) await insert(key);
      const replacement = newKey();
      expect(await reEncrypt(replacement)).toMatchObject({ hashKeys: 2, hashKeysReEncrypted: 2 });
      expect(await reEncrypt(replacement)).toMatchObject({ hashKeys: 2, hashKeysReEncrypted: 0 });
      const decrypted = (await rows()).map(({ id, secret }) => keyringUnder(replacement).decrypt(secret, id));
      expect(decrypted).toEqual(plain);
    });

    it('refuses, and changes nothing, when one decrypts under neither', async () => {
      await insert(randomBytes(32));
      const unreadable = await insert(randomBytes(32), newKey());
      const before = await rows();
      const error = await cli.failure('keys', 're-encrypt');
      expect(error.message).toContain('1 of 2 hash keys decrypt under neither master key; nothing has been changed');
      expect(error.details).toEqual({ hashKeys: 2, unreadable: 1, organizations: [unreadable] });
      expect(await rows()).toEqual(before);
    });
  });
});
