import { isUuid } from '../../common/ids';

const UUID_BYTES = 16;

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
