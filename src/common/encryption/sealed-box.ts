import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SealingKey } from './key-ring';

const VERSION = 1;
const CIPHER = 'aes-256-gcm';
const KEY_ID_AT = 1;
const NONCE_AT = 5;
const NONCE_BYTES = 12;
const CIPHERTEXT_AT = NONCE_AT + NONCE_BYTES;
const TAG_BYTES = 16;

/** Thrown by `open`. Says which kind of failure it was and nothing about key or content. */
export class SealedBoxError extends Error {
  override readonly name = 'SealedBoxError';
}

/**
 * Encrypts and authenticates `plain` (AES-256-GCM, NIST SP 800-38D).
 *
 * Layout: version (1 byte), key id (4), nonce (12, random), ciphertext, tag (16). With random nonces one key is good for
 * 2^32 boxes (section 8.3), far beyond the number of secrets at rest.
 *
 * @param context where the box belongs, such as `organization|domain|selector`; a box copied elsewhere does not open
 */
export function seal(plain: Buffer, key: SealingKey, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const header = Buffer.allocUnsafe(NONCE_AT);
  header.writeUInt8(VERSION, 0);
  header.writeUInt32BE(key.id, KEY_ID_AT);
  const cipher = createCipheriv(CIPHER, key.secret, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(header, context));
  return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Opens a box. @throws SealedBoxError when it was sealed with another key or for another context, or has been altered.
 */
export function open(sealed: Buffer, key: SealingKey, context: string): Buffer {
  if (sealed.length < CIPHERTEXT_AT + TAG_BYTES || sealed[0] !== VERSION) {
    throw new SealedBoxError('Not a sealed box of a known version');
  }
  if (keyIdOf(sealed) !== key.id) throw new SealedBoxError('Sealed with another key');
  const tagAt = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(NONCE_AT, CIPHERTEXT_AT);
  const decipher = createDecipheriv(CIPHER, key.secret, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(additionalData(sealed.subarray(0, NONCE_AT), context));
  decipher.setAuthTag(sealed.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(CIPHERTEXT_AT, tagAt)), decipher.final()]);
  } catch {
    throw new SealedBoxError('Altered, or sealed for another context');
  }
}

/** The id of the key that a box was sealed with: for choosing among old and new keys. Undefined for what is no box. */
export function keyIdOf(sealed: Buffer): number | undefined {
  return sealed.length < NONCE_AT ? undefined : sealed.readUInt32BE(KEY_ID_AT);
}

function additionalData(header: Buffer, context: string): Buffer {
  return Buffer.concat([header, Buffer.from(context)]);
}
