import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** A key of 256 bits and the number by which encrypted data names it. */
export interface EncryptionKey {
  /** Unsigned 32-bit number, derived like the key, so that keys need no counter. */
  readonly id: number;
  readonly secret: Buffer;
}

const MASTER_KEY_BYTES = 32;

/**
 * Derives the 32-byte key of one purpose from the master key (HKDF-SHA256, RFC 5869). Keys of different purposes
 * reveal nothing about each other or about the master key.
 *
 * @param master exactly 32 random bytes
 * @param purpose a fixed label in kebab-case such as `return-path`; never reuse one for another kind of data
 * @throws RangeError when the master key has another length
 */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return expand(master, `waybill/1/${purpose}`, 32);
}

/** The same for `encrypt` and `decrypt`, which also need to distinguish keys. */
export function deriveEncryptionKey(master: Buffer, purpose: string): EncryptionKey {
  return { id: expand(master, `waybill/1/${purpose}#id`, 4).readUInt32BE(0), secret: deriveKey(master, purpose) };
}

/** Distinguishes master keys, and reveals nothing of them: in backups, and in the database. */
export function masterKeyId(masterKey: Buffer): number {
  return deriveEncryptionKey(masterKey, 'backup').id;
}

function expand(master: Buffer, info: string, bytes: number): Buffer {
  if (master.length !== MASTER_KEY_BYTES) throw new RangeError(`The master key must have ${MASTER_KEY_BYTES} bytes`);
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), info, bytes));
}

const VERSION = 1;
const CIPHER = 'aes-256-gcm';
const KEY_ID_AT = 1;
const NONCE_AT = 5;
const NONCE_BYTES = 12;
const CIPHERTEXT_AT = NONCE_AT + NONCE_BYTES;
const TAG_BYTES = 16;

/** Thrown by `decrypt`. Names the kind of failure, and nothing about key or content. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
}

/** No key of this process has encrypted it: another process has a master key that this one lacks. The operator's fault, and it passes. */
export class UnknownKeyError extends DecryptionError {
  constructor() {
    super('Encrypted with another key: is it in MASTER_KEY or MASTER_KEY_PREVIOUS of this process?');
  }
}

/**
 * Encrypts and authenticates `plain` (AES-256-GCM, NIST SP 800-38D).
 *
 * Layout: version (1 byte), key id (4), nonce (12, random), ciphertext, tag (16). With random nonces one key is good for
 * 2^32 values (section 8.3), far beyond the number of secrets at rest.
 *
 * @param context where the value belongs, such as `organization|domain|selector`; a copy elsewhere does not decrypt
 */
export function encrypt(plain: Buffer, key: EncryptionKey, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const header = Buffer.allocUnsafe(NONCE_AT);
  header.writeUInt8(VERSION, 0);
  header.writeUInt32BE(key.id, KEY_ID_AT);
  const cipher = createCipheriv(CIPHER, key.secret, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(header, context));
  return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Decrypts it. @throws DecryptionError when it was encrypted with another key or for another context, or has been altered.
 */
export function decrypt(encrypted: Buffer, key: EncryptionKey, context: string): Buffer {
  if (encrypted.length < CIPHERTEXT_AT + TAG_BYTES || encrypted[0] !== VERSION) {
    throw new DecryptionError('Not encrypted in a known version');
  }
  if (keyIdOf(encrypted) !== key.id) throw new DecryptionError('Encrypted with another key');
  const tagAt = encrypted.length - TAG_BYTES;
  const nonce = encrypted.subarray(NONCE_AT, CIPHERTEXT_AT);
  const decipher = createDecipheriv(CIPHER, key.secret, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(additionalData(encrypted.subarray(0, NONCE_AT), context));
  decipher.setAuthTag(encrypted.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(CIPHERTEXT_AT, tagAt)), decipher.final()]);
  } catch {
    throw new DecryptionError('Altered, or encrypted for another context');
  }
}

/** The id of the key that a value was encrypted with, to choose among old and new keys. Undefined for other bytes. */
export function keyIdOf(encrypted: Buffer): number | undefined {
  return encrypted.length < NONCE_AT ? undefined : encrypted.readUInt32BE(KEY_ID_AT);
}

function additionalData(header: Buffer, context: string): Buffer {
  return Buffer.concat([header, Buffer.from(context)]);
}

/** The master key that encrypts, and the one before it, which still decrypts while the key is being changed. */
export interface MasterKeys {
  /** 32 random bytes. */
  readonly masterKey: Buffer;
  readonly previousMasterKey?: Buffer | undefined;
}

/** The keys of one purpose: encrypts with the present key and also decrypts with the previous one. */
export class Keyring {
  private readonly current: EncryptionKey;
  private readonly keys: ReadonlyMap<number, EncryptionKey>;

  /** @param purpose as in `deriveKey` */
  constructor(purpose: string, { masterKey, previousMasterKey }: MasterKeys) {
    this.current = deriveEncryptionKey(masterKey, purpose);
    const previous = previousMasterKey ? [deriveEncryptionKey(previousMasterKey, purpose)] : [];
    this.keys = new Map([...previous, this.current].map((key) => [key.id, key]));
  }

  encrypt(plain: Buffer, context: string): Buffer {
    return encrypt(plain, this.current, context);
  }

  /** @throws DecryptionError when no key of the ring has encrypted it, it belongs elsewhere, or it has been altered */
  decrypt(encrypted: Buffer, context: string): Buffer {
    const key = this.keyOf(encrypted);
    if (!key) throw new UnknownKeyError();
    return decrypt(encrypted, key, context);
  }

  /** Whether a key of the ring has encrypted it, by the id that it carries; whether it decrypts is another question. */
  knows(encrypted: Buffer): boolean {
    return this.keyOf(encrypted) !== undefined;
  }

  /** Whether it is encrypted under the present master key. */
  isCurrent(encrypted: Buffer): boolean {
    return this.keyOf(encrypted) === this.current;
  }

  private keyOf(encrypted: Buffer): EncryptionKey | undefined {
    const id = keyIdOf(encrypted);
    return id === undefined ? undefined : this.keys.get(id);
  }
}
