import { constants, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import type { Readable, Transform } from 'node:stream';

const ZIP_ENTRY = Buffer.from('PK\x03\x04', 'latin1');
const ZIP_DEFLATED = 8;
const ZIP_HEADER = 30;
const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);
const PDF = Buffer.from('%PDF-');
const PDF_STREAM = Buffer.from('stream');
/** Streams of one file that are searched. */
const MAX_STREAMS = 10_000;

/** Of what is unpacked so much is handed over at a time, */
const PIECE = 1024 * 1024;
/** each with the end of the one before. */
const OVERLAP = 64 * 1024;

/**
 * The unpacked content of what is compressed within a file: entries of ZIP files (documents of office programs are such), a gzip
 * file, streams of a PDF file. What is broken ends where it breaks. In pieces of some MiB, which overlap; unpacking runs in the thread pool.
 *
 * @param maxBytes of all streams together
 */
export async function* compressedStreams(bytes: Buffer, maxBytes: number): AsyncGenerator<Buffer> {
  let left = maxBytes;
  let count = 0;
  for (const { start, make } of findStreams(bytes)) {
    count += 1;
    if (left <= 0 || count > MAX_STREAMS) return;
    for await (const piece of unpack(make(), bytes.subarray(start), left)) {
      left -= piece.length;
      yield piece;
    }
  }
}

interface Stream {
  readonly start: number;
  readonly make: () => Transform;
}

/** It may be cut off, and something may follow it. */
const OPTIONS = { finishFlush: constants.Z_SYNC_FLUSH };

function* findStreams(bytes: Buffer): Generator<Stream> {
  if (bytes.subarray(0, GZIP.length).equals(GZIP)) yield { start: 0, make: () => createGunzip(OPTIONS) };
  for (const at of places(bytes, ZIP_ENTRY)) {
    if (at + ZIP_HEADER > bytes.length || bytes.readUInt16LE(at + 8) !== ZIP_DEFLATED) continue;
    const start = at + ZIP_HEADER + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
    yield { start, make: () => createInflateRaw(OPTIONS) };
  }
  if (!bytes.subarray(0, 1024).includes(PDF)) return;
  for (const at of places(bytes, PDF_STREAM)) {
    const start = afterLineEnd(bytes, at + PDF_STREAM.length);
    if (start !== undefined) yield { start, make: () => createInflate(OPTIONS) };
  }
}

function* places(bytes: Buffer, marker: Buffer): Generator<number> {
  for (let at = bytes.indexOf(marker); at !== -1; at = bytes.indexOf(marker, at + marker.length)) yield at;
}

/** ISO 32000-1 section 7.3.8.1: CR LF or LF. `endstream` ends in the same letters. */
function afterLineEnd(bytes: Buffer, at: number): number | undefined {
  if (bytes.toString('latin1', Math.max(0, at - 9), at) === 'endstream') return undefined;
  if (bytes[at] === 0x0a) return at + 1;
  return bytes[at] === 0x0d && bytes[at + 1] === 0x0a ? at + 2 : undefined;
}

/** Up to `maxBytes`, and to where it breaks. */
async function* unpack(transform: Transform, bytes: Buffer, maxBytes: number): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let [size, total] = [0, 0];
  transform.end(bytes);
  try {
    for await (const chunk of transform as Readable as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      total += chunk.length;
      if (total >= maxBytes) break;
      if (size < PIECE) continue;
      const piece = Buffer.concat(chunks);
      yield piece;
      chunks = [piece.subarray(-OVERLAP)];
      size = OVERLAP;
    }
  } catch {
    // Not what it seemed to be, or cut off.
  } finally {
    transform.destroy();
  }
  if (size > 0) yield Buffer.concat(chunks);
}
