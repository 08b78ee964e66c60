import { base32 } from 'rfc4648';
import { isUuid } from '../../common/ids';

const UUID_BYTES = 16;
/** The library also reads `0` as `o` and the like, and padding. */
const BASE32 = /^[a-z2-7]+$/i;

/** Writes a UUID as its 16 bytes. @throws RangeError when it is none */
export function writeUuid(id: string, bytes: Buffer, at: number): void {
  if (!isUuid(id)) throw new RangeError('The id must be a UUID');
  bytes.write(id.replaceAll('-', ''), at, 'hex');
}

/** The UUID of the 16 bytes from `at`, in lower case. */
export function readUuid(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + UUID_BYTES);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** RFC 4648 section 6 in lower case, without padding: survives servers that change the case of a local part. */
export function toBase32(bytes: Uint8Array): string {
  return base32.stringify(bytes, { pad: false }).toLowerCase();
}

/** Reads either case; undefined for any other character and for spellings that `toBase32` never writes. */
export function fromBase32(text: string): Buffer | undefined {
  if (!BASE32.test(text)) return undefined;
  try {
    return Buffer.from(base32.parse(text, { loose: true }));
  } catch {
    // Bits left over that are not zero.
    return undefined;
  }
}
