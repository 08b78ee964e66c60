import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { AppError } from '../../common/errors/app-error';
import type { Mode } from '../../common/tenant';

/** The mode of an organization's key; `op`: an operator's key. */
export type KeyKind = Mode | 'op';

/**
 * `wb_(live|test|op)_` + 43 characters of base64url (256 random bits) + 6 characters of checksum, so that secret scanners
 * and the service itself can tell a typo from a revoked key without a database look-up.
 */
const KEY = /^wb_(live|test|op)_([A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface MintedKey {
  /** Shown once, never stored. */
  readonly key: string;
  readonly hash: Buffer;
  /** Enough of the key to recognise it in a list. */
  readonly prefix: string;
}

/** A new random key of 256 bits with its checksum, the hash to store and the prefix to show. */
export function mintKey(kind: KeyKind): MintedKey {
  const body = `wb_${kind}_${randomBytes(32).toString('base64url')}`;
  const key = body + checksum(body);
  return { key, hash: hashKey(key), prefix: key.slice(0, `wb_${kind}_`.length + 4) };
}

/** The mode of an organization's well-formed key with a correct checksum; undefined for any other text. */
export function modeOfKey(key: string): Mode | undefined {
  const kind = kindOfKey(key);
  return kind === 'op' ? undefined : kind;
}

/** The kind of a well-formed key with a correct checksum; undefined for any other text. */
export function kindOfKey(key: string): KeyKind | undefined {
  const match = KEY.exec(key);
  if (!match || checksum(key.slice(0, -6)) !== match[3]) return undefined;
  return match[1] as KeyKind;
}

/** SHA-256: enough for a secret of 256 random bits; a password hash would only slow down each request. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** CRC-32 in base 62, six characters (62^6 > 2^32). */
function checksum(text: string): string {
  let rest = crc32(text);
  let encoded = '';
  for (let place = 0; place < 6; place += 1) {
    encoded = ALPHABET.charAt(rest % 62) + encoded;
    rest = Math.floor(rest / 62);
  }
  return encoded;
}

/** The token of `Authorization: Bearer <token>` (RFC 6750); the scheme is case-insensitive. Empty without one. */
export function bearerToken(header: string | undefined): string {
  return /^bearer +(\S{1,128})$/i.exec(header ?? '')?.[1] ?? '';
}

/** The error for a missing, malformed or unknown key. Revoked and expired keys have codes of their own. */
export function invalidKey(): AppError {
  return new AppError('invalid_api_key', 'The API key is missing or not valid', {
    suggestion: 'Send the header Authorization: Bearer wb_live_… or wb_test_…; under /operator/v1, wb_op_…',
  });
}
