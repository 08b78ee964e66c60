import { randomBytes } from 'node:crypto';
import { Keyring } from './encryption';
import { type EncryptedRecords, examine, masterKeysAfter, reEncrypt } from './re-encrypt';

interface Row {
  readonly id: string;
  value: Buffer;
}

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const before = new Keyring('notes', { masterKey: oldKey });
const after = new Keyring('notes', masterKeysAfter(newKey, { masterKey: oldKey }));
const rowsOf = (...ids: string[]): Row[] => ids.map((id) => ({ id, value: before.encrypt(Buffer.from(id), id) }));

/** `meanwhile` happens after each row that is written. */
function recordsOf(rows: Row[], meanwhile: () => void = () => undefined): EncryptedRecords<Row> {
  return {
    rows: async function* () {
      for (const row of [...rows]) yield await Promise.resolve(row);
    },
    nameOf: ({ id }) => id,
    isCurrent: ({ value }) => after.isCurrent(value),
    decrypt: ({ id, value }) => after.decrypt(value, id),
    reEncrypt: (row) => {
      row.value = after.encrypt(after.decrypt(row.value, row.id), row.id);
      meanwhile();
      return Promise.resolve(true);
    },
  };
}

describe('the change of the master key', () => {
  it('keeps what the old one has encrypted readable', () => {
    expect(masterKeysAfter(newKey, { masterKey: oldKey })).toEqual({ masterKey: newKey, previousMasterKey: oldKey });
    const unchanged = { masterKey: oldKey, previousMasterKey: newKey };
    expect(masterKeysAfter(Buffer.from(oldKey), unchanged)).toEqual(unchanged);
  });

  it('names what decrypts under neither key', async () => {
    const rows = rowsOf('a', 'b', 'c');
    rows.push({ id: 'd', value: (rows[0] as Row).value }, { id: 'e', value: Buffer.alloc(2) });
    expect(await examine(recordsOf(rows))).toEqual({ total: 5, unreadable: ['d', 'e'] });
  });

  it('encrypts each row once, and can be repeated', async () => {
    const rows = rowsOf('a', 'b');
    expect(await reEncrypt(recordsOf(rows))).toBe(2);
    expect(await reEncrypt(recordsOf(rows))).toBe(0);
    expect(rows.map(({ id, value }) => after.decrypt(value, id).toString())).toEqual(['a', 'b']);
  });

  it('catches up with a process that still encrypts under the old key', async () => {
    const rows = rowsOf('a');
    const late = rowsOf('b', 'c');
    const records = recordsOf(rows, () => rows.push(...late.splice(0, 1)));
    expect(await reEncrypt(records)).toBe(3);
  });

  it('stops at a row that does not decrypt', async () => {
    const rows = [...rowsOf('a'), { id: 'x', value: before.encrypt(Buffer.from('x'), 'elsewhere') }];
    await expect(reEncrypt(recordsOf(rows))).rejects.toThrow('encrypted for another context');
  });
});
