import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { newId } from '../../../src/common/ids';
import { reEncrypt } from '../../../src/common/encryption/re-encrypt';
import type { AppConfig } from '../../../src/config/config';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import { DkimKeyring, type KeyOwner } from '../../../src/modules/domains/dkim/dkim-keyring';
import { DkimKey } from '../../../src/modules/domains/dkim/dkim-key.entity';
import { DkimKeysRepository } from '../../../src/modules/domains/dkim/dkim-keys.repository';
import { EncryptedDkimKeysService } from '../../../src/modules/domains/dkim/encrypted-dkim-keys.service';
import {
  type EncryptedKeyRow,
  findPublishedKeys,
  listEncryptedKeys,
  replaceEncryptedKeys,
} from '../../../src/modules/domains/dkim/sql/dkim-keys.sql';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const PLAIN = Buffer.from('private');
const NO_ID = '00000000-0000-0000-0000-000000000001';

let db: OpenTestDatabase;
beforeEach(async () => (db = await openTestDatabase({ entities: [DkimKey] })));
afterEach(() => db.drop());

const insertEncrypted = (owner: KeyOwner, encrypted: Buffer) =>
  db.query(
    `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key)
     values ($1, $2, $3, $4, 'public')`,
    [owner.organizationId, owner.domainId, owner.selector, encrypted],
  );
const newOwner = (): KeyOwner => ({ organizationId: newId(), domainId: newId(), selector: 'wb1' });

describe('the statements on keys', () => {
  it('read only the requested rows, however many keys there are', async () => {
    const rows = await db.query<EncryptedKeyRow>(
      `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key)
       select gen_random_uuid(), gen_random_uuid(), 'wb1', decode(repeat('00', 1200), 'hex'), 'public'
       from generate_series(1, 5000)
       returning organization_id as "organizationId", domain_id as "domainId", selector, private_key_sealed as encrypted`,
    );
    await db.query('analyze dkim_keys');
    const some = rows.slice(0, 50);
    const statements: [Statement<unknown>, number][] = [
      [findPublishedKeys(some.map(({ domainId }) => domainId)), 50],
      [listEncryptedKeys(20, some[0]), 20],
      [replaceEncryptedKeys(some.map((row) => ({ ...row, reEncrypted: PLAIN }))), 50],
    ];
    const client: PoolClient = await poolOf(db.dataSource).connect();
    try {
      for (const [statement, limit] of statements) {
        const reads = (await explainBoth(client, statement)).filter((node) => node['Relation Name'] === 'dkim_keys');
        for (const { 'Node Type': type, 'Actual Rows': found = 0, 'Actual Loops': loops = 1 } of reads) {
          expect(type).not.toBe('Seq Scan');
          expect(found * loops).toBeLessThanOrEqual(limit);
        }
        expect(reads.length).toBeGreaterThan(0);
      }
    } finally {
      client.release();
    }
  });

  it('replace a key only as it was read', async () => {
    const keys = new DkimKeysRepository(db.database, db.dataSource.getRepository(DkimKey));
    const [one, two] = [newOwner(), newOwner()];
    const encrypted = Buffer.from('as read');
    await insertEncrypted(one, encrypted);
    await insertEncrypted(two, Buffer.from('changed since'));
    const gone = newOwner();
    expect(
      await keys.replaceEncrypted([one, two, gone].map((owner) => ({ ...owner, encrypted, reEncrypted: PLAIN }))),
    ).toBe(1);
    const stored = (await keys.listEncrypted(10)).map((row) => [row.domainId, row.encrypted.toString()]);
    expect(new Map(stored as [string, string][])).toEqual(
      new Map([
        [one.domainId, 'private'],
        [two.domainId, 'changed since'],
      ]),
    );
  });
});

describe('encrypting all keys again', () => {
  it('catches up with processes that still encrypt under the old key', async () => {
    const before = configOf(randomBytes(32));
    const oldKeyring = new DkimKeyring(before);
    for (let n = 0; n < 3; n += 1) {
      const owner = newOwner();
      await insertEncrypted(owner, oldKeyring.encrypt(PLAIN, owner));
    }
    /** Adds a key in front of those that have been gone through. */
    class BusyRepository extends DkimKeysRepository {
      private late = 0;

      override async replaceEncrypted(keys: Parameters<DkimKeysRepository['replaceEncrypted']>[0]): Promise<number> {
        const replaced = await super.replaceEncrypted(keys);
        if ((this.late += 1) > 2) return replaced;
        const owner = { organizationId: NO_ID, domainId: newId(), selector: 'late' };
        await insertEncrypted(owner, oldKeyring.encrypt(PLAIN, owner));
        return replaced;
      }
    }
    const service = new EncryptedDkimKeysService(
      new BusyRepository(db.database, db.dataSource.getRepository(DkimKey)),
      oldKeyring,
      before,
    );
    const masterKey = randomBytes(32);
    expect(await reEncrypt(service.recordsUnder(masterKey))).toBe(5);
    const alone = new DkimKeyring(configOf(masterKey));
    const rows = await new DkimKeysRepository(db.database, db.dataSource.getRepository(DkimKey)).listEncrypted(10);
    expect(rows.map((row) => alone.decrypt(row.encrypted, row))).toEqual(Array.from({ length: 5 }, () => PLAIN));
  });

  function configOf(masterKey: Buffer): AppConfig {
    return { masterKey } as Partial<AppConfig> as AppConfig;
  }
});
