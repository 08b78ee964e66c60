import { randomBytes } from 'node:crypto';
import { newId } from '../../../src/common/ids';
import type { AppConfig } from '../../../src/config/config';
import { PrivacyKeyring } from '../../../src/modules/privacy/requests/privacy-keyring.service';
import { query } from '../embedded/support';
import { CliKit, runWith } from './cli-kit';

const ADA = { email: 'ada@example.com', reason: 'asked by letter' };
const keyringUnder = (masterKey: string) =>
  new PrivacyKeyring({ masterKey: Buffer.from(masterKey, 'base64') } as Partial<AppConfig> as AppConfig);
const hex = (bytes: Buffer) => `'\\x${bytes.toString('hex')}'::bytea`;

describe('waybill keys rewrap, of privacy requests', () => {
  let cli: CliKit;
  let present: string;
  beforeEach(async () => {
    cli = await CliKit.create();
    present = cli.environment.MASTER_KEY ?? '';
  });
  afterEach(() => cli.destroy());

  /** A request and a part of its result; answers its key. */
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
  const rewrap = async (env: NodeJS.ProcessEnv) => {
    const { stdout } = await runWith({ ...cli.environment, ...env }, ['keys', 'rewrap', '--json']);
    return JSON.parse(stdout);
  };

  it('encrypts subjects and results again, and renews the hashes that find them', async () => {
    const keys = [await insert(), await insert(), await insert()];
    const replacement = randomBytes(32).toString('base64');
    const both = { MASTER_KEY: replacement, MASTER_KEY_PREVIOUS: present };
    expect(await rewrap(both)).toMatchObject({ privacyRecords: 6, privacyRecordsResealed: 6 });
    const keyring = keyringUnder(replacement);
    for (const [index, { subject, hash, content }] of (await rows()).entries()) {
      const key = keys[index] as (typeof keys)[number];
      expect(keyring.decryptSubject(subject, key)).toEqual(ADA);
      expect(keyring.decryptPart(content, key).toString()).toBe('text');
      expect(hash).toEqual(keyring.hashOf(ADA.email));
    }
    expect(await rewrap(both)).toMatchObject({ privacyRecords: 6, privacyRecordsResealed: 0 });
    expect(await rewrap({ MASTER_KEY: replacement })).toMatchObject({ privacyRecords: 6, privacyRecordsResealed: 0 });
  });

  it('refuses, and changes nothing, when one decrypts under neither', async () => {
    await insert();
    const { id } = await insert(randomBytes(32).toString('base64'));
    const before = await rows();
    const error = await cli.failure('keys', 'rewrap');
    expect(error.message).toBe('2 of 4 privacy records open under neither master key; nothing has been changed');
    expect(error.details).toEqual({ privacyRecords: 4, closed: 2, ids: [id, id] });
    expect(await rows()).toEqual(before);
  });
});
