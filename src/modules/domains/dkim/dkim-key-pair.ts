import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

const RSA_BITS = 2048;

export interface DkimKeyPair {
  /** PKCS #8, DER. */
  readonly privateKey: Buffer;
  /** Base64 of the SubjectPublicKeyInfo: the `p=` of the DNS record (RFC 6376 section 3.6.1). */
  readonly publicKey: string;
}

/** Makes a key pair in the thread pool: about 100 ms that must not stall the event loop. */
export async function generateDkimKeyPair(): Promise<DkimKeyPair> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: RSA_BITS,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  return { privateKey, publicKey: publicKey.toString('base64') };
}

export function parsePrivateKey(der: Buffer): KeyObject {
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}
