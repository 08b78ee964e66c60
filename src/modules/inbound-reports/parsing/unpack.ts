import type { Transform } from 'node:stream';
import { createGunzip, createInflateRaw } from 'node:zlib';
import { leavesOf, splitMessage } from '../../../common/mime/mime-message';
import { decodedBody } from '../../../common/mime/part-text';
import { PARSING_LIMITS } from './report';

/** A report is one file; some come with a letter beside it. */
const MAX_FILES = 3;

const STORED = 0;
const DEFLATED = 8;
const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
/** Bit 3: the sizes follow the data (APPNOTE 4.4.4). Bit 0: encrypted. */
const SIZES_FOLLOW = 8;
const ENCRYPTED = 1;

/** Which parts of a message are files of a kind: by their type, or by the end of their name. */
export interface FileKind {
  readonly types: RegExp;
  readonly names: RegExp;
}

/** The first three files of a kind that a message carries, without transfer encoding; none of a message that is too complex. */
export function* filesIn(raw: Buffer, { types, names }: FileKind): Generator<Buffer> {
  const message = splitMessage(raw);
  const wanted = (message ? leavesOf(message) : []).filter(({ contentType, fields }) => {
    const name =
      contentType.parameters.get('name') ??
      /filename="?([^";]{1,300})/i.exec(fields.first('content-disposition') ?? '')?.[1];
    return types.test(contentType.type) || names.test(name ?? '');
  });
  for (const part of wanted.slice(0, MAX_FILES)) {
    yield Buffer.from(decodedBody(part, PARSING_LIMITS.messageLength), 'latin1');
  }
}

/**
 * The file that an attachment holds, piece by piece: plain, gzip (RFC 1952), or the first file of a zip archive. Each piece is
 * small, and no more than `maxBytes` come in all, whatever the sizes in the archive claim.
 * @throws Error for broken or encrypted data, and for what unpacks to more than `maxBytes`
 */
export async function* unpack(data: Buffer, maxBytes: number): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const piece of piecesOf(data)) {
    length += piece.length;
    if (length > maxBytes) throw new Error(`unpacks to more than ${maxBytes} bytes`);
    yield piece;
  }
}

function piecesOf(data: Buffer): AsyncIterable<Buffer> | Iterable<Buffer> {
  if (data[0] === 0x1f && data[1] === 0x8b) return through(createGunzip(), data);
  if (data.length < LOCAL_HEADER_BYTES || data.readUInt32LE(0) !== LOCAL_HEADER) return inPieces(data);
  const flags = data.readUInt16LE(6);
  const method = data.readUInt16LE(8);
  const start = LOCAL_HEADER_BYTES + data.readUInt16LE(26) + data.readUInt16LE(28);
  if ((flags & ENCRYPTED) !== 0) throw new Error('is encrypted');
  // A deflated file ends by itself; data after it is not read.
  if (method === DEFLATED) return through(createInflateRaw(), data.subarray(start));
  if (method !== STORED || (flags & SIZES_FOLLOW) !== 0) throw new Error(`is packed in an unknown way (${method})`);
  return inPieces(data.subarray(start, start + data.readUInt32LE(18)));
}

/** A consumer that stops early destroys the stream. */
function through(decoder: Transform, data: Buffer): AsyncIterable<Buffer> {
  decoder.end(data);
  return decoder as AsyncIterable<Buffer>;
}

const PIECE = 16 * 1024;

function* inPieces(data: Buffer): Generator<Buffer> {
  for (let at = 0; at < data.length; at += PIECE) yield data.subarray(at, at + PIECE);
}
