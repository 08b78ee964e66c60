import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { link, lstat, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { unlessAborted } from '../../common/async/promises';
import { syncFolder } from '../../common/disk-space';

/**
 * A backup is one gzip stream: the line `WAYBILL-BACKUP 1`, then parts. A part is its type (J: JSON, D: bytes of a table's
 * COPY), its length (32 bits, big-endian) and its content. The last one says `end`: a file that was cut off has none.
 */
export type BackupPart =
  | { readonly type: 'json'; readonly value: unknown }
  | { readonly type: 'data'; readonly bytes: Buffer };

const MAGIC = Buffer.from('WAYBILL-BACKUP 1\n');
/** Of any format. */
const NAME = Buffer.from('WAYBILL-BACKUP ');
const HEAD_BYTES = 5;
/** Far above what is ever written: a COPY row is one part at most, and a message has 40 MB. */
const MAX_PART_BYTES = 1024 * 1024 * 1024;
/** Errors of file systems without hard links. */
const WITHOUT_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];
const TYPES = { json: 0x4a, data: 0x44 } as const;

/** What is wrong with a backup file, for people. */
export class BackupFileError extends Error {
  override readonly name = 'BackupFileError';
}

/**
 * Writes a file for this user only, whole and on the disk, or not at all.
 * @param check reads the file before it has its name; what it throws leaves no file
 * @param signal aborted: leaves no file either
 * @returns its length, and what `check` found
 * @throws BackupFileError when there is one already; the errors of `parts` and `check`
 */
export async function writeBackupFile<Checked>(
  file: string,
  parts: AsyncIterable<BackupPart>,
  check: (partial: string) => Promise<Checked>,
  signal?: AbortSignal,
): Promise<{ readonly bytes: number; readonly checked: Checked }> {
  if (await exists(file)) throw isThere(file);
  // Its own, since another process may be writing the same backup.
  const partial = `${file}.${randomUUID().slice(0, 8)}.partial`;
  try {
    const output = createWriteStream(partial, { mode: 0o600, flags: 'wx', flush: true });
    const source = Readable.from(encode(parts), { objectMode: false });
    await unlessAborted(pipeline(source, createGzip({ level: 6 }), output, { signal }), signal);
    const checked = await unlessAborted(check(partial), signal);
    await giveName(partial, file);
    await syncFolder(path.dirname(path.resolve(file)));
    return { bytes: output.bytesWritten, checked };
  } catch (error) {
    // Where the folder is missing or none, the first error says so.
    await rm(partial, { force: true }).catch(() => undefined);
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC') throw new BackupFileError(`There is not enough room for ${file}; nothing has been left`);
    throw error;
  }
}

/** Unlike a mere rename, this replaces no file that has appeared since. @throws BackupFileError when there is one */
async function giveName(partial: string, file: string): Promise<void> {
  try {
    await link(partial, file);
    await rm(partial);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || (await exists(file))) throw isThere(file);
    if (!WITHOUT_LINKS.includes(code)) throw error;
    await rename(partial, file);
  }
}

const isThere = (file: string) => new BackupFileError(`${file} is there already: a backup overwrites nothing`);

async function* encode(parts: AsyncIterable<BackupPart>): AsyncGenerator<Buffer> {
  yield MAGIC;
  for await (const part of parts) {
    const bytes = part.type === 'data' ? part.bytes : Buffer.from(JSON.stringify(part.value));
    const head = Buffer.allocUnsafe(HEAD_BYTES);
    head.writeUInt8(TYPES[part.type], 0);
    head.writeUInt32BE(bytes.length, 1);
    yield head;
    yield bytes;
  }
}

/** Reads a file part by part. @throws BackupFileError when it is none, or damaged */
export async function* readBackupFile(file: string): AsyncGenerator<BackupPart> {
  const input = createReadStream(file);
  const source = input.pipe(createGunzip());
  input.on('error', (error) => source.destroy(error));
  const bytes = new ByteReader(source);
  try {
    const magic = await bytes.take(MAGIC.length);
    if (magic === undefined || !magic.equals(MAGIC)) throw notReadable(file, magic);
    for (let head = await bytes.take(HEAD_BYTES); head !== undefined; head = await bytes.take(HEAD_BYTES)) {
      yield await readPart(head, bytes);
    }
  } catch (error) {
    throw describeDamage(file, error as NodeJS.ErrnoException);
  } finally {
    input.destroy();
    source.destroy();
  }
}

function notReadable(file: string, magic: Buffer | undefined): BackupFileError {
  const isOfOurs = magic?.subarray(0, NAME.length).equals(NAME);
  return new BackupFileError(
    isOfOurs
      ? `${file} has the format of a later release: restore it with that release`
      : `${file} is no backup of this service`,
  );
}

async function readPart(head: Buffer, bytes: ByteReader): Promise<BackupPart> {
  const length = head.readUInt32BE(1);
  if (length > MAX_PART_BYTES) throw new BackupFileError('a part is too long');
  const content = await bytes.take(length);
  if (content === undefined) throw new BackupFileError('it is cut off');
  const [type] = head;
  if (type === TYPES.json) return { type: 'json', value: JSON.parse(content.toString()) as unknown };
  if (type === TYPES.data) return { type: 'data', bytes: content };
  throw new BackupFileError('it has a part of an unknown kind');
}

function describeDamage(file: string, error: NodeJS.ErrnoException): Error {
  const { code = '', message, syscall } = error;
  if (syscall !== undefined) return new BackupFileError(`Cannot read ${file}: ${message}`);
  if (error instanceof BackupFileError && message.startsWith(file)) return error;
  if (error instanceof BackupFileError || error instanceof SyntaxError || code.startsWith('Z_')) {
    return new BackupFileError(`${file} is damaged, or no backup of this service: ${message}`);
  }
  return error;
}

/** Hands out exact numbers of bytes of a stream. */
class ByteReader {
  private readonly chunks: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.chunks = stream[Symbol.asyncIterator]();
  }

  /** Undefined at the end. @throws BackupFileError when it ends in the middle */
  async take(length: number): Promise<Buffer | undefined> {
    const parts = [this.rest];
    let has = this.rest.length;
    while (has < length) {
      const next = await this.chunks.next();
      if (next.done) {
        if (has === 0) return undefined;
        throw new BackupFileError('it is cut off');
      }
      parts.push(next.value);
      has += next.value.length;
    }
    const bytes = parts.length === 1 ? this.rest : Buffer.concat(parts);
    this.rest = bytes.subarray(length);
    return bytes.subarray(0, length);
  }
}

async function exists(file: string): Promise<boolean> {
  // A link that leads nowhere is a file as well.
  return lstat(file).then(
    () => true,
    () => false,
  );
}
