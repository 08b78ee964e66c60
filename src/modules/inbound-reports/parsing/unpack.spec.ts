import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import ts from 'typescript';
import { zipOf } from '../../../../test/factories/zip';
import { leavesOf, splitMessage } from '../../../common/mime/mime-message';
import { viewMessage } from './message-view';
import { parseReport } from './parse-report';
import { PARSING_LIMITS } from './report';
import { unpack } from './unpack';

const TOO_COMPLEX = { kind: 'ignored', reason: 'too-complex' };
const FOLDERS = [__dirname, join(__dirname, '../../../common/mime')];
const sources = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
    .map((name) => join(folder, name)),
);

function patternsOf(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.RegularExpressionLiteral) found.push((node as ts.RegularExpressionLiteral).text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function nested(levels: number): Buffer {
  const heads = Array.from({ length: levels }, (_, level) => {
    return `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`;
  });
  return Buffer.from(`From: a@example.org\r\n${heads.join('')}\r\nend\r\n`);
}

function flat(parts: number): Buffer {
  const head = 'From: a@example.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n';
  return Buffer.from(`${head}${'--b\r\n\r\ntext\r\n'.repeat(parts)}--b--\r\n`);
}

describe('the limits of parsing', () => {
  it('hold in every pattern: no repetition is unbounded, so that matching takes linear time', () => {
    const patterns = sources.flatMap(patternsOf);
    expect(patterns.length).toBeGreaterThan(50);
    for (const pattern of patterns) {
      const bare = pattern.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
      expect(bare).not.toMatch(/[*+]|\{\d+,\}/);
    }
  });

  it('take messages up to the depth and the number of parts, and none beyond', () => {
    expect(parseReport(nested(PARSING_LIMITS.depth))).not.toEqual(TOO_COMPLEX);
    expect(parseReport(nested(PARSING_LIMITS.depth + 1))).toEqual(TOO_COMPLEX);
    expect(parseReport(flat(PARSING_LIMITS.parts - 1))).not.toEqual(TOO_COMPLEX);
    expect(parseReport(flat(PARSING_LIMITS.parts))).toEqual(TOO_COMPLEX);
  });

  it('take headers up to the number of lines, and none beyond', () => {
    const header = (lines: number) => Buffer.from(`${'X-Line: 1\r\n'.repeat(lines)}\r\nbody\r\n`);
    expect(parseReport(header(PARSING_LIMITS.headerLines - 1))).toEqual({ kind: 'ignored', reason: 'not-a-report' });
    expect(parseReport(header(PARSING_LIMITS.headerLines + 1))).toEqual(TOO_COMPLEX);
  });

  it('cut long fields, long lines and long texts', () => {
    const field = 'f'.repeat(PARSING_LIMITS.fieldLength * 2);
    const text = `${'l'.repeat(PARSING_LIMITS.lineLength * 2)}\n${'line\n'.repeat(PARSING_LIMITS.textLines * 2)}`;
    const message = splitMessage(Buffer.from(`Subject: ${field}\r\n ${field}\r\n\r\n${text}`));
    const view = message && viewMessage(message);
    expect(view?.subject.length).toBeLessThanOrEqual(PARSING_LIMITS.fieldLength);
    expect(view?.lines.length).toBe(PARSING_LIMITS.textLines);
    expect(view?.lines[0]?.length).toBe(PARSING_LIMITS.lineLength);
  });

  it('do not look beyond the largest message', () => {
    const filler = Buffer.alloc(PARSING_LIMITS.messageLength, 'x\n');
    const message = splitMessage(Buffer.concat([Buffer.from('From: a@example.org\n\n'), filler, Buffer.from('end')]));
    expect(message && leavesOf(message)[0]?.body.endsWith('end')).toBe(false);
  });

  it.each([
    '--b',
    '--b-\n',
    '\n--b',
    '<',
    '=?',
    '=3',
    '"',
    '\n',
    '\r',
    ': ',
    'a:\n ',
    '550 ',
    '5.1.1',
    '\n--b x\n',
    '\0',
  ])('answer 2 MiB of %j', (unit) => {
    const head = 'From: a@example.org\nX-Failed-Recipients: a\nContent-Type: multipart/report; boundary=b\n\n--b\n\n';
    const raw = Buffer.concat([Buffer.from(head), Buffer.alloc(PARSING_LIMITS.messageLength, unit)]);
    expect(['bounce', 'ignored']).toContain(parseReport(raw).kind);
  });
});

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
