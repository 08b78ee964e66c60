const EQUALS = 0x3d;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;

/** The bytes of a part without its transfer encoding (RFC 2045 section 6); an unknown one is taken for none. */
export function decodeTransfer(body: Buffer, encoding: string | undefined): Buffer {
  const name = encoding?.trim().toLowerCase();
  if (name === 'base64') return Buffer.from(body.toString('latin1'), 'base64');
  return name === 'quoted-printable' ? decodeQuotedPrintable(body) : body;
}

/** RFC 2045 section 6.7, in one pass of some nanoseconds a byte; an `=` that begins no escape stands for itself. */
export function decodeQuotedPrintable(body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] as number;
    if (byte !== EQUALS) {
      bytes[length++] = byte;
      continue;
    }
    const escaped = hexValue(body[at + 1]) * 16 + hexValue(body[at + 2]);
    const breakEnd = softBreakEnd(body, at + 1);
    if (!Number.isNaN(escaped)) {
      bytes[length++] = escaped;
      at += 2;
    } else if (breakEnd > 0) at = breakEnd - 1;
    else bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

function hexValue(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

/** White space that a relay has added. */
const MAX_PADDING = 10;

/** Behind the line end that does not count, perhaps with white space before it; 0 when there is none. */
function softBreakEnd(body: Buffer, from: number): number {
  let at = from;
  while (at < from + MAX_PADDING && (body[at] === SPACE || body[at] === TAB)) at += 1;
  if (body[at] === LF) return at + 1;
  return body[at] === CR && body[at + 1] === LF ? at + 2 : 0;
}
