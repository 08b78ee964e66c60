import { setImmediate as nextTurn } from 'node:timers/promises';
import { piecesInTurns } from '../async/fair-turns';

const EQUALS = 0x3d;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
/** White space that a relay has added. */
const MAX_PADDING = 10;

/** The bytes of a part without its transfer encoding (RFC 2045 section 6); an unknown one is taken for none. */
export function decodeTransfer(body: Buffer, encoding: string | undefined): Buffer {
  const name = encoding?.trim().toLowerCase();
  if (name === 'base64') return Buffer.from(body.toString('latin1'), 'base64');
  return name === 'quoted-printable' ? decodeQuotedPrintable(body) : body;
}

/** Decoded in one turn of the event loop: a millisecond or two. */
const WINDOW_BYTES = 256 * 1024;

/**
 * The same of a part of any size, with turns of the event loop in between: 25 MiB of quoted-printable would hold it up for
 * a tenth of a second. Padding of base64 in the middle ends nothing.
 */
export async function decodeTransferInTurns(body: Buffer, encoding: string | undefined): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase();
  if (body.length <= WINDOW_BYTES || (name !== 'base64' && name !== 'quoted-printable')) {
    return decodeTransfer(body, encoding);
  }
  const decoded = Buffer.allocUnsafeSlow(body.length);
  const decode = name === 'base64' ? base64Decoder() : decodeQuotedPrintable;
  let length = 0;
  for (let at = 0, end: number; at < body.length; at = end) {
    if (at > 0) await nextTurn();
    end = name === 'base64' ? Math.min(at + WINDOW_BYTES, body.length) : wholeLinesEnd(body, at);
    length += decode(body.subarray(at, end), end === body.length).copy(decoded, length);
  }
  return decoded.subarray(0, length);
}

/** Four characters make three bytes: what is left of a window belongs to the next one. */
function base64Decoder(): (window: Buffer, isLast: boolean) => Buffer {
  let left = '';
  return (window, isLast) => {
    const text = left + window.toString('latin1').replace(/[^A-Za-z0-9+/_-]/g, '');
    const whole = isLast ? text.length : text.length - (text.length % 4);
    left = text.slice(whole);
    return Buffer.from(text.slice(0, whole), 'base64');
  };
}

/** After the last line end of a window, where no escape is cut; in a longer line, before its last escape. */
function wholeLinesEnd(body: Buffer, from: number): number {
  const end = from + WINDOW_BYTES;
  if (end >= body.length) return body.length;
  const lineEnd = body.lastIndexOf(LF, end - 1);
  if (lineEnd > from) return lineEnd + 1;
  const escape = body.lastIndexOf(EQUALS, end - 1);
  return escape > from && end - escape <= MAX_PADDING + 3 ? escape : end;
}

/** RFC 2045 section 6.7, in one pass of some nanoseconds a byte; an `=` that starts no escape stands for itself. */
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

/** Position after a soft line break, with optional white space before it; 0 when there is none. */
function softBreakEnd(body: Buffer, from: number): number {
  let at = from;
  while (at < from + MAX_PADDING && (body[at] === SPACE || body[at] === TAB)) at += 1;
  if (body[at] === LF) return at + 1;
  return body[at] === CR && body[at + 1] === LF ? at + 2 : 0;
}

/** Characters that are decoded in one turn of the event loop; whole groups of four. */
const PIECE = 256 * 1024;
/** RFC 4648 section 4. */
const PADDING = /={1,2}$/;
const OTHER = /[^A-Za-z0-9+/]/;

/** How many bytes base64 of that form stands for. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor(base64.length / 4) * 3 - padding);
}

/** The bytes of base64 with its padding and nothing else; undefined for anything else. A long one takes several of the holder's turns. */
export async function decodeBase64(base64: string, holder: string): Promise<Buffer | undefined> {
  if (base64.length % 4 !== 0) return undefined;
  const bytes = Buffer.allocUnsafe(decodedLength(base64));
  let length = 0;
  for await (const { start, end } of piecesInTurns(base64.length, PIECE, holder)) {
    const piece = base64.slice(start, end);
    if (OTHER.test(end === base64.length ? piece.replace(PADDING, '') : piece)) return undefined;
    length += bytes.write(piece, length, 'base64');
  }
  return bytes;
}
