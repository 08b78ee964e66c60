import { randomBytes } from 'node:crypto';
import { deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { zipOf } from '../../../../test/factories/zip';
import { unpack } from './unpack';

const LIMIT = 100_000;

async function unpacked(data: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of unpack(data, LIMIT)) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('an attachment', () => {
  const content = Buffer.from(`<feedback>${randomBytes(20_000).toString('hex')}</feedback>`);

  it.each([
    ['plain', content],
    ['gzip', gzipSync(content)],
    ['zip', zipOf(content)],
    ['zip without packing', zipOf(content, { method: 0 })],
    ['zip whose sizes follow', zipOf(content, { flags: 8 })],
    ['zip with more behind the file', Buffer.concat([zipOf(content), randomBytes(500)])],
  ])('is read: %s', async (_name, data) => {
    expect((await unpacked(data)).equals(content)).toBe(true);
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000))],
    ['zip', zipOf(Buffer.alloc(50_000_000))],
    // A header that promises little.
    ['zip with a false size', zipOf(Buffer.alloc(50_000_000), { size: 10 })],
    ['plain', Buffer.alloc(LIMIT + 1, 'a')],
  ])('that is a bomb is given up at the limit: %s', async (_name, data) => {
    await expect(unpacked(data)).rejects.toThrow('unpacks to more than');
  });

  it.each([
    ['broken gzip', gzipSync(content).subarray(0, 1_000)],
    ['broken zip', Buffer.concat([zipOf(content).subarray(0, 200), randomBytes(200)])],
    ['encrypted zip', zipOf(content, { flags: 1 })],
    ['unknown method', zipOf(content, { method: 12 })],
    ['unpacked zip without a size', zipOf(content, { method: 0, flags: 8 })],
  ])('that cannot be read fails: %s', async (_name, data) => {
    await expect(unpacked(data)).rejects.toThrow();
  });

  it('of any bytes ends, and never goes beyond the limit', async () => {
    const start = fc.constantFrom(Buffer.alloc(0), Buffer.from([0x1f, 0x8b, 8]), Buffer.from('PK\u0003\u0004'));
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 300 }), async (head, tail) => {
        const data = await unpacked(Buffer.concat([head, tail])).catch(() => Buffer.alloc(0));
        expect(data.length).toBeLessThanOrEqual(LIMIT);
      }),
    );
  });

  it('is packed as archives are', () =>
    expect(zipOf(content).subarray(-3)).toEqual(deflateRawSync(content).subarray(-3)));
});
