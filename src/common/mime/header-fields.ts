const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const HEADER_END = '\r\n\r\n';

export interface FieldRange {
  readonly start: number;
  readonly colon: number;
  /** After its last byte, before the CRLF that ends it. */
  readonly end: number;
}

/** The fields of a message's header by lower-case name, in the order of the message, and the start of the body. */
export interface ParsedHeader {
  readonly bytes: Buffer;
  readonly fields: ReadonlyMap<string, readonly FieldRange[]>;
  readonly bodyStart: number;
}

/**
 * Finds the header fields of a message with CRLF line ends.
 * @throws TypeError when the header does not end, has a malformed line, or has more than `maxFields`
 */
export function parseHeader(message: Buffer, maxFields = Infinity): ParsedHeader {
  const headerEnd = message.indexOf(HEADER_END);
  if (headerEnd < 0) throw new TypeError('The message has no end of header');
  const fields = new Map<string, FieldRange[]>();
  let start = 0;
  for (let count = 1; start < headerEnd; count += 1) {
    if (count > maxFields) throw new TypeError('The message has too many header fields');
    const end = endOfField(message, start);
    const colon = message.indexOf(COLON, start);
    if (colon < 0 || colon > end) throw new TypeError('The message has a header line without a colon');
    const name = message.toString('latin1', start, colon).toLowerCase();
    const range = { start, colon, end };
    const sameName = fields.get(name);
    if (sameName === undefined) fields.set(name, [range]);
    else sameName.push(range);
    start = end + 2;
  }
  return { bytes: message, fields, bodyStart: headerEnd + HEADER_END.length };
}

/** The first CRLF that no white space follows. */
function endOfField(message: Buffer, start: number): number {
  let end = message.indexOf('\r\n', start);
  while (isSpace(message[end + 2])) end = message.indexOf('\r\n', end + 2);
  return end;
}

/**
 * Writes the relaxed form of one field (RFC 6376 section 3.4.2) without a line end: lower-case name, unfolded value with
 * runs of white space as one space and none at its ends.
 * @returns the length of `out` after it; the form is never longer than the field
 */
function writeRelaxedField(bytes: Buffer, field: FieldRange, out: Buffer, at: number): number {
  let length = at;
  for (let index = field.start; index < field.colon; index += 1) out[length++] = lowerCase(bytes[index] as number);
  out[length++] = COLON;
  const valueStart = length;
  let heldSpace = false;
  for (let index = field.colon + 1; index < field.end; index += 1) {
    const byte = bytes[index] as number;
    if (byte === SPACE || byte === TAB || byte === CR || byte === LF) {
      heldSpace = true;
      continue;
    }
    if (heldSpace && length > valueStart) out[length++] = SPACE;
    heldSpace = false;
    out[length++] = byte;
  }
  return length;
}

function lowerCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

/**
 * What a signature covers (RFC 6376 section 3.7): the signed fields in relaxed form, then the signature itself with an
 * empty `b=`.
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
