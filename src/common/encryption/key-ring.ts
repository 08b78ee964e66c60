import { hkdfSync } from 'node:crypto';

/** A key of 256 bits and the number by which sealed data names it. */
export interface SealingKey {
  /** Unsigned 32-bit number, derived like the key, so that nobody has to count keys. */
  readonly id: number;
  readonly secret: Buffer;
}

export const MASTER_KEY_BYTES = 32;

/**
 * Derives the 32-byte key of one purpose from the master key (HKDF-SHA256, RFC 5869). Keys of different purposes tell
 * nothing about each other or about the master key.
 *
 * @param master exactly 32 random bytes
 * @param purpose a fixed label in kebab-case such as `return-path`; never reuse one for another kind of data
 * @throws RangeError when the master key has another length
 */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return expand(master, `waybill/1/${purpose}`, 32);
}

/** The same for `seal` and `open`, which also need to tell keys apart. */
export function deriveSealingKey(master: Buffer, purpose: string): SealingKey {
  return { id: expand(master, `waybill/1/${purpose}#id`, 4).readUInt32BE(0), secret: deriveKey(master, purpose) };
}

function expand(master: Buffer, info: string, bytes: number): Buffer {
  if (master.length !== MASTER_KEY_BYTES) throw new RangeError(`The master key must have ${MASTER_KEY_BYTES} bytes`);
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), info, bytes));
}
