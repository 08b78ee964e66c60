import { createHmac, timingSafeEqual } from 'node:crypto';
import { DAY } from '../../common/clock';
import type { Clock } from '../../common/clock';
import type { Mode } from '../../common/tenant';
import { fromBase32, readUuid, toBase32, writeUuid } from './token-encoding';

/** Names one delivery to the bounce listener. */
export interface ReturnPathTarget {
  /** The organization's number, unsigned 32 bits. */
  readonly organizationOrdinal: number;
  readonly mode: Mode;
  readonly emailId: string;
  /** Position among the email's recipients, 0 to 255. */
  readonly position: number;
}

/** In front of a return path, and of an address that unsubscribes; each kind has a key of its own. */
const PREFIXES = { 'return-path': 'b+', unsubscribe: 'u+' } as const;
export type AddressKind = keyof typeof PREFIXES;
/** Later than the last day that a token can hold, which stands for no limit: people may unsubscribe at any time. */
export const NO_EXPIRY = new Date('2149-06-01T00:00:00Z');
const VERSION = 1;
const ORDINAL_AT = 1;
const EMAIL_ID_AT = 5;
const POSITION_AT = 21;
const EXPIRY_DAY_AT = 22;
const MAC_AT = 24;
const MAC_BYTES = 10;
const TOKEN_BYTES = MAC_AT + MAC_BYTES;
const TOKEN_LENGTH = Math.ceil((TOKEN_BYTES * 8) / 5);

const OWN_SENDER = new RegExp(`^b\\+[a-z2-7]{${TOKEN_LENGTH}}@`, 'i');

/** Whether an address has the form of a return path: most likely the mail is ours and has come back. Only `open` proves it. */
export function looksLikeReturnPath(address: string): boolean {
  return OWN_SENDER.test(address);
}

/**
 * Local parts of envelope senders (VERP) that only this service can issue, so that a bounce message counts only when it refers
 * to mail of this service.
 *
 * `b+` and 55 base32 characters, 57 of the 64 that RFC 5321 section 4.5.3.1.1 allows. 34 bytes: version in the high and mode in
 * the low half (1), organization (4), email id (16), position (1), last day of validity since the epoch (2), HMAC-SHA256 of all
 * that, cut to 80 bits (10): about 10^24 guesses, each of which is an SMTP conversation.
 */
export class ReturnPath {
  private readonly prefix: string;

  /** @param key 32 bytes, `deriveKey(master, 'return-path')`, or `'unsubscribe-address'` */
  constructor(
    private readonly key: Buffer,
    private readonly clock: Clock,
    kind: AddressKind = 'return-path',
  ) {
    this.prefix = PREFIXES[kind];
    if (key.length !== 32) throw new RangeError('The return path key must have 32 bytes');
  }

  /**
   * Issues the local part for one delivery, valid to the end of the UTC day of `expiresAt`.
   * @throws RangeError when a number or the id does not fit
   */
  issue(target: ReturnPathTarget, expiresAt: Date): string {
    const token = Buffer.alloc(TOKEN_BYTES);
    token.writeUInt8((VERSION << 4) | (target.mode === 'live' ? 1 : 0), 0);
    token.writeUInt32BE(target.organizationOrdinal, ORDINAL_AT);
    writeUuid(target.emailId, token, EMAIL_ID_AT);
    token.writeUInt8(target.position, POSITION_AT);
    token.writeUInt16BE(dayOf(expiresAt), EXPIRY_DAY_AT);
    this.macOf(token).copy(token, MAC_AT);
    return this.prefix + toBase32(token);
  }

  /** What a local part in either case stands for; undefined when it is not ours, has been altered or has expired. */
  open(localPart: string): ReturnPathTarget | undefined {
    if (localPart.length !== this.prefix.length + TOKEN_LENGTH || !localPart.toLowerCase().startsWith(this.prefix)) {
      return undefined;
    }
    const token = fromBase32(localPart.slice(this.prefix.length));
    if (token === undefined || !timingSafeEqual(this.macOf(token), token.subarray(MAC_AT))) return undefined;
    const kind = token.readUInt8(0);
    if (kind >> 4 !== VERSION || token.readUInt16BE(EXPIRY_DAY_AT) < dayOf(this.clock.now())) return undefined;
    return {
      organizationOrdinal: token.readUInt32BE(ORDINAL_AT),
      mode: (kind & 1) === 1 ? 'live' : 'test',
      emailId: readUuid(token, EMAIL_ID_AT),
      position: token.readUInt8(POSITION_AT),
    };
  }

  private macOf(token: Buffer): Buffer {
    return createHmac('sha256', this.key).update(token.subarray(0, MAC_AT)).digest().subarray(0, MAC_BYTES);
  }
}

function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY);
}
