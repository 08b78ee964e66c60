import { piecesInTurns } from '../async/fair-turns';

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
