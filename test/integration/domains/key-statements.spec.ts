import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { newId } from '../../../src/common/ids';
import type { AppConfig } from '../../../src/config/config';
import { poolOf } from '../../../src/database/data-source';
import type { Statement } from '../../../src/database/statement';
import { DkimVault, type KeyOwner } from '../../../src/modules/domains/dkim/dkim-vault';
import { SealedKeysRepository } from '../../../src/modules/domains/dkim/sealed-keys.repository';
import { SealedKeysService } from '../../../src/modules/domains/dkim/sealed-keys.service';
import { findPublishedKeys } from '../../../src/modules/domains/dkim/sql/find-published-keys.sql';
import { listSealedKeys, type SealedKeyRow } from '../../../src/modules/domains/dkim/sql/list-sealed-keys.sql';
import { replaceSealedKeys } from '../../../src/modules/domains/dkim/sql/replace-sealed-keys.sql';
import { explainPrepared } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const PLAIN = Buffer.from('private');
const NO_ID = '00000000-0000-0000-0000-000000000001';

let db: OpenTestDatabase;
beforeEach(async () => (db = await openTestDatabase()));
afterEach(() => db.drop());

const insertSealed = (owner: KeyOwner, sealed: Buffer) =>
  db.query(
    `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key)
     values ($1, $2, $3, $4, 'public')`,
    [owner.organizationId, owner.domainId, owner.selector, sealed],
  );
const newOwner = (): KeyOwner => ({ organizationId: newId(), domainId: newId(), selector: 'wb1' });

describe('the statements on keys', () => {
  it('touch what they are asked for, however many keys there are', async () => {
    const rows = await db.query<SealedKeyRow>(
      `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key)
       select gen_random_uuid(), gen_random_uuid(), 'wb1', decode(repeat('00', 1200), 'hex'), 'public'
       from generate_series(1, 5000)
       returning organization_id as "organizationId", domain_id as "domainId", selector, private_key_sealed as sealed`,
    );
    await db.query('analyze dkim_keys');
    const some = rows.slice(0, 50);
    const statements: [Statement<unknown>, number][] = [
      [findPublishedKeys(some.map(({ domainId }) => domainId)), 50],
      [listSealedKeys(20, some[0]), 20],
      [replaceSealedKeys(some.map((row) => ({ ...row, resealed: PLAIN }))), 50],
    ];
    const client: PoolClient = await poolOf(db.dataSource).connect();
    try {
      for (const [statement, limit] of statements) {
        const reads = (await explainPrepared(client, statement)).filter(
          (node) => node['Relation Name'] === 'dkim_keys',
        );
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
    const keys = new SealedKeysRepository(db.database);
    const [one, two] = [newOwner(), newOwner()];
    const sealed = Buffer.from('as read');
    await insertSealed(one, sealed);
    await insertSealed(two, Buffer.from('changed since'));
    const gone = newOwner();
    expect(await keys.replace([one, two, gone].map((owner) => ({ ...owner, sealed, resealed: PLAIN })))).toBe(1);
    const stored = (await keys.sample(10)).map((row) => [row.domainId, row.sealed.toString()]);
    expect(new Map(stored as [string, string][])).toEqual(
      new Map([
        [one.domainId, 'private'],
        [two.domainId, 'changed since'],
      ]),
    );
  });
});

describe('sealing all keys again', () => {
  it('catches up with those who still seal under the old key', async () => {
    const before = configOf(randomBytes(32));
    const oldVault = new DkimVault(before);
    for (let n = 0; n < 3; n += 1) {
      const owner = newOwner();
      await insertSealed(owner, oldVault.seal(PLAIN, owner));
    }
    /** Adds a key in front of those that have been gone through. */
    class BusyRepository extends SealedKeysRepository {
      private late = 0;

      override async replace(keys: Parameters<SealedKeysRepository['replace']>[0]): Promise<number> {
        const replaced = await super.replace(keys);
        if ((this.late += 1) > 2) return replaced;
        const owner = { organizationId: NO_ID, domainId: newId(), selector: 'late' };
        await insertSealed(owner, oldVault.seal(PLAIN, owner));
        return replaced;
      }
    }
    const service = new SealedKeysService(new BusyRepository(db.database), oldVault, before);
    const masterKey = randomBytes(32);
    expect(await service.reseal(service.vaultUnder(masterKey))).toBe(5);
    const alone = new DkimVault(configOf(masterKey));
    const rows = await new SealedKeysRepository(db.database).sample(10);
    expect(rows.map((row) => alone.open(row.sealed, row))).toEqual(Array.from({ length: 5 }, () => PLAIN));
  });

  function configOf(masterKey: Buffer): AppConfig {
    return { masterKey } as Partial<AppConfig> as AppConfig;
  }
});
