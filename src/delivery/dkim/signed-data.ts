import { type FieldRange, type ParsedHeader, writeRelaxedField } from './header-fields';

/**
 * What a signature is over (RFC 6376 section 3.7): the relaxed form of the signed fields, each with CRLF, then that of the
 * signature field itself with an empty `b=`.
 *
 * @param own the signature field from its name on, without a line end
 */
export function signedData(header: ParsedHeader, ranges: readonly FieldRange[], own: Buffer): Buffer {
  const size = ranges.reduce((sum, range) => sum + range.end - range.start + 2, own.length);
  const out = Buffer.allocUnsafe(size);
  let length = 0;
  for (const range of ranges) {
    length = writeRelaxedField(header.bytes, range, out, length);
    length += out.write('\r\n', length, 'latin1');
  }
  length = writeRelaxedField(own, { start: 0, colon: own.indexOf(':'), end: own.length }, out, length);
  return out.subarray(0, length);
}
