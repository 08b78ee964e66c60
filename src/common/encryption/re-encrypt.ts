import type { MasterKeys } from './encryption';

/** One kind of data that is stored encrypted under the master key; each feature provides an adapter for its own. */
export interface EncryptedRecords<Row> {
  /** All of them, of all organizations, read in pages: the master key is the operator's. */
  rows(): AsyncIterable<Row>;
  /** What an operator finds a row by. */
  nameOf(row: Row): string;
  /** Whether all that the row holds is encrypted under the new master key. */
  isCurrent(row: Row): boolean;
  /** Decrypts all that the row holds. @throws DecryptionError */
  decrypt(row: Row): unknown;
  /** Stores the row encrypted under the new master key. @returns false when it has changed since it was read */
  reEncrypt(row: Row): Promise<boolean>;
}

/** The master keys after a change to `masterKey`: what is encrypted under the present one still decrypts. */
export function masterKeysAfter(masterKey: Buffer, present: MasterKeys): MasterKeys {
  const isChange = !masterKey.equals(present.masterKey);
  return { masterKey, previousMasterKey: isChange ? present.masterKey : present.previousMasterKey };
}

/** Counts the rows and names those that do not decrypt. Changes nothing. */
export async function examine<Row>(records: EncryptedRecords<Row>): Promise<{ total: number; unreadable: string[] }> {
  let total = 0;
  const unreadable: string[] = [];
  for await (const row of records.rows()) {
    total += 1;
    if (!decrypts(records, row)) unreadable.push(records.nameOf(row));
  }
  return { total, unreadable };
}

/**
 * Encrypts every row again that is not under the new master key, until a pass finds none: processes that still encrypt
 * under the old key meanwhile are caught up with. Can be repeated after any interruption.
 * @returns how many rows it has written
 * @throws DecryptionError for a row that does not decrypt
 */
export async function reEncrypt<Row>(records: EncryptedRecords<Row>): Promise<number> {
  let total = 0;
  for (;;) {
    const written = await reEncryptOnce(records);
    if (written === 0) return total;
    total += written;
  }
}

async function reEncryptOnce<Row>(records: EncryptedRecords<Row>): Promise<number> {
  let written = 0;
  for await (const row of records.rows()) {
    if (!records.isCurrent(row) && (await records.reEncrypt(row))) written += 1;
  }
  return written;
}

function decrypts<Row>(records: EncryptedRecords<Row>, row: Row): boolean {
  try {
    records.decrypt(row);
    return true;
  } catch {
    return false;
  }
}
