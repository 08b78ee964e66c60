const CR = 0x0d;
const LF = 0x0a;

/**
 * Turns every bare CR and bare LF into CRLF; the same Buffer when there is none.
 *
 * This must happen before signing: a bare CR or LF that the wire rewrites breaks the body hash, and one that it does not
 * rewrite is a way to smuggle a second message (RFC 5321 section 2.3.8).
 */
export function toCrlf(bytes: Buffer): Buffer {
  const bare = countBareLineEnds(bytes);
  if (bare === 0) return bytes;
  const out = Buffer.allocUnsafe(bytes.length + bare);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte !== CR && byte !== LF) {
      out[length++] = byte;
      continue;
    }
    if (byte === CR && bytes[at + 1] === LF) at += 1;
    out[length++] = CR;
    out[length++] = LF;
  }
  return out;
}

/** The same for a stream, whatever its chunks are. */
export async function* crlfChunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const joined = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    // Whether a CR at the end is bare shows in the next chunk.
    const end = joined.at(-1) === CR ? joined.length - 1 : joined.length;
    held = joined.subarray(end);
    yield toCrlf(joined.subarray(0, end));
  }
  yield toCrlf(held);
}

const BARE_LF = /(?<!\r)\n/g;

/**
 * Turns every bare LF into CRLF and leaves bare CRs; the same Buffer when there is none.
 * @param before the byte in front of the first one, when these are a part of something longer
 */
export function lfToCrlf(bytes: Buffer, before?: number): Buffer {
  const front = before === CR ? '\r' : '';
  const text = front + bytes.toString('latin1');
  const whole = text.replace(BARE_LF, '\r\n');
  return whole.length === text.length ? bytes : Buffer.from(whole.slice(front.length), 'latin1');
}

function countBareLineEnds(bytes: Buffer): number {
  let bare = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) bare += 1;
  }
  for (let at = bytes.indexOf(CR); at >= 0; at = bytes.indexOf(CR, at + 1)) {
    if (bytes[at + 1] !== LF) bare += 1;
  }
  return bare;
}
