import { deflateRawSync } from 'node:zlib';

export interface ZipFields {
  /** 8 packs the content, anything else leaves it as it is. */
  readonly method?: number;
  readonly flags?: number;
  /** What the header says of the packed content; the truth if left out. */
  readonly size?: number;
}

/** The first file of a zip archive (APPNOTE 4.3.7): what a reader of one file looks at. */
export function zipOf(content: Buffer, { method = 8, flags = 0, size }: ZipFields = {}): Buffer {
  const name = Buffer.from('report.xml');
  const data = method === 8 ? deflateRawSync(content) : content;
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE((flags & 8) === 0 ? (size ?? data.length) : 0, 18);
  header.writeUInt32LE((flags & 8) === 0 ? content.length : 0, 22);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, name, data]);
}
