import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveEncryptionKey, type EncryptionKey } from '../../common/encryption/encryption';
import type { Mode } from '../../common/tenant';
import { readUuid, writeUuid } from './token-encoding';

/** Names one recipient of one email to the links in it. */
export interface RecipientLinkTarget {
  /** The organization's number, unsigned 32 bits. */
  readonly organizationOrdinal: number;
  readonly mode: Mode;
  readonly emailId: string;
  /** Position among the email's recipients, 0 to 255. */
  readonly position: number;
}

/** A link of the mail that leads on: `url` is where to, 1 to `MAX_URL_LENGTH` printable ASCII characters. */
export interface ClickTarget extends RecipientLinkTarget {
  readonly url: string;
}

/** The kind of a link; a token of one kind is invalid as another. */
export type RecipientLinkKind = 'unsubscribe' | 'open' | 'click';
export type TargetOf<Kind extends RecipientLinkKind> = Kind extends 'click' ? ClickTarget : RecipientLinkTarget;

/** What servers, proxies and mail programs take without complaint, the token being a third longer than the address. */
export const MAX_URL_LENGTH = 2_000;

const KIND_NUMBER: Record<RecipientLinkKind, number> = { unsubscribe: 1, open: 2, click: 3 };
const VERSION = 1;
const LIVE = 8;
const KEY_ID_AT = 1;
const ORDINAL_AT = 5;
const EMAIL_ID_AT = 9;
const POSITION_AT = 25;
const URL_AT = 26;
const MAC_BYTES = 16;
const ADDRESS = new RegExp(`^[\\x21-\\x7e]{1,${MAX_URL_LENGTH}}$`);
const MAX_TOKEN_LENGTH = Math.ceil(((URL_AT + MAX_URL_LENGTH + MAC_BYTES) * 4) / 3);

/**
 * Tokens of the links in a mail, which only this service can issue: no link of another recipient can be guessed, a forged one
 * costs no look-up, and a click leads nowhere but to the address that was in the mail (no open redirect).
 *
 * base64url without padding. 42 bytes, 56 characters: version in the high half, mode and kind in the low one (1), key id (4),
 * organization (4), email id (16), position (1), HMAC-SHA256 of all that, cut to 128 bits (16). A click's address stands before
 * the HMAC, so that a redirect needs no database.
 *
 * They have no expiry: mail lies in inboxes for years, and an unsubscription must work at any time. They end with their key, two
 * changes of the master key later. Nothing in them depends on the time, so every attempt sends the same bytes.
 */
export class RecipientLink {
  private readonly key: EncryptionKey;
  private readonly keys: readonly EncryptionKey[];

  /** @param previousMasterKey verifies as well but issues nothing */
  constructor(masterKey: Buffer, previousMasterKey?: Buffer) {
    this.key = deriveEncryptionKey(masterKey, 'recipient-link');
    this.keys = previousMasterKey ? [this.key, deriveEncryptionKey(previousMasterKey, 'recipient-link')] : [this.key];
  }

  /** @throws RangeError when a number, the id or the address does not fit */
  issue<Kind extends RecipientLinkKind>(kind: Kind, target: TargetOf<Kind>): string {
    const url = 'url' in target ? target.url : '';
    if ((kind === 'click') !== ADDRESS.test(url)) throw new RangeError('A click, and nothing else, needs an address');
    const bytes = Buffer.alloc(URL_AT + url.length + MAC_BYTES);
    bytes.writeUInt8(headOf(kind) | (target.mode === 'live' ? LIVE : 0), 0);
    bytes.writeUInt32BE(this.key.id, KEY_ID_AT);
    bytes.writeUInt32BE(target.organizationOrdinal, ORDINAL_AT);
    writeUuid(target.emailId, bytes, EMAIL_ID_AT);
    bytes.writeUInt8(target.position, POSITION_AT);
    bytes.write(url, URL_AT, 'latin1');
    macOf(bytes, this.key).copy(bytes, bytes.length - MAC_BYTES);
    return bytes.toString('base64url');
  }

  /** What a token stands for; undefined when it is not ours, has been altered or is of another kind. */
  open<Kind extends RecipientLinkKind>(kind: Kind, token: string): TargetOf<Kind> | undefined;
  open(kind: RecipientLinkKind, token: string): RecipientLinkTarget | ClickTarget | undefined {
    const bytes = token.length <= MAX_TOKEN_LENGTH ? Buffer.from(token, 'base64url') : Buffer.alloc(0);
    // Each token has one spelling: decoding overlooks spare bits and foreign characters.
    if (bytes.length < URL_AT + MAC_BYTES || bytes.toString('base64url') !== token) return undefined;
    if ((bytes.readUInt8(0) & ~LIVE) !== headOf(kind) || !this.isGenuine(bytes)) return undefined;
    const target = readTarget(bytes);
    return kind === 'click' ? { ...target, url: bytes.toString('latin1', URL_AT, bytes.length - MAC_BYTES) } : target;
  }

  private isGenuine(bytes: Buffer): boolean {
    const keyId = bytes.readUInt32BE(KEY_ID_AT);
    const mac = bytes.subarray(-MAC_BYTES);
    return this.keys.some((key) => key.id === keyId && timingSafeEqual(mac, macOf(bytes, key)));
  }
}

function readTarget(bytes: Buffer): RecipientLinkTarget {
  return {
    organizationOrdinal: bytes.readUInt32BE(ORDINAL_AT),
    mode: (bytes.readUInt8(0) & LIVE) === 0 ? 'test' : 'live',
    emailId: readUuid(bytes, EMAIL_ID_AT),
    position: bytes.readUInt8(POSITION_AT),
  };
}

function headOf(kind: RecipientLinkKind): number {
  return (VERSION << 4) | KIND_NUMBER[kind];
}

function macOf(bytes: Buffer, key: EncryptionKey): Buffer {
  return createHmac('sha256', key.secret).update(bytes.subarray(0, -MAC_BYTES)).digest().subarray(0, MAC_BYTES);
}
