import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { DecryptionError } from './encryption';

/** A secret encrypted under a pass phrase (scrypt, RFC 7914, and AES-256-GCM). Binary fields in base64. */
export interface PassphraseEncrypted {
  readonly kdf: 'scrypt';
  /** CPU and memory cost, block size, parallelization. */
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
  readonly nonce: string;
  /** Ciphertext and tag. */
  readonly sealed: string;
}

/** 128 MiB for each guess. */
const COST = { n: 2 ** 17, r: 8, p: 1 };
/** Limits for parameters in a file, which is untrusted. */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param context what the secret is; it does not open as anything else */
export async function encryptWithPassphrase(
  plain: Buffer,
  passphrase: string,
  context: string,
  cost = COST,
): Promise<PassphraseEncrypted> {
  const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)];
  const cipher = createCipheriv(CIPHER, await keyOf(passphrase, salt, cost), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64');
  return { kdf: 'scrypt', ...cost, salt: salt.toString('base64'), nonce: nonce.toString('base64'), sealed };
}

/** @throws DecryptionError when the pass phrase is another one, or the text has been altered */
export async function decryptWithPassphrase(
  { salt, nonce, sealed, ...cost }: PassphraseEncrypted,
  passphrase: string,
  context: string,
): Promise<Buffer> {
  try {
    const key = await keyOf(passphrase, Buffer.from(salt, 'base64'), cost);
    const bytes = Buffer.from(sealed, 'base64');
    const tagAt = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'base64'), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(tagAt));
    return Buffer.concat([decipher.update(bytes.subarray(0, tagAt)), decipher.final()]);
  } catch {
    throw new DecryptionError('The pass phrase is not the one');
  }
}

function keyOf(passphrase: string, salt: Buffer, { n, r, p }: typeof COST): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { N: n, r, p, maxmem: MAX_MEMORY_BYTES };
    scrypt(passphrase.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}
