import { inflateRawSync } from 'node:zlib';

const END_OF_DIRECTORY = 0x06054b50;
const ENTRY = 0x02014b50;
const STORED = 0;

/** The files of a ZIP archive by its central directory (APPNOTE 4.3.12), as texts; ZIP64 is not supported. */
export function readZip(zip: Buffer): Record<string, string> {
  const end = zip.lastIndexOf(signature(END_OF_DIRECTORY));
  if (end < 0) throw new Error('No ZIP archive');
  const files: Record<string, string> = {};
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (zip.readUInt32LE(at) !== ENTRY) throw new Error('The central directory is broken');
    const nameLength = zip.readUInt16LE(at + 28);
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    const content = contentOf(zip, at);
    if (content.length !== zip.readUInt32LE(at + 24)) throw new Error(`${name} has another length`);
    files[name] = content.toString('utf8');
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return files;
}

function contentOf(zip: Buffer, entry: number): Buffer {
  const header = zip.readUInt32LE(entry + 42);
  const begin = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
  const packed = zip.subarray(begin, begin + zip.readUInt32LE(entry + 20));
  return zip.readUInt16LE(entry + 10) === STORED ? packed : inflateRawSync(packed);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
