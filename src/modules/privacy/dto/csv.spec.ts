import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { parseCsv } from '../../../../test/setup/parse-csv';
import { anyCharacter } from '../../../../test/factories/any-character';
import { csvLines, csvPart } from './csv';

describe('csvPart', () => {
  async function piecesOf(rows: readonly (readonly string[])[]): Promise<string[]> {
    const pieces: string[] = [];
    for await (const piece of csvPart(rows)) pieces.push(piece);
    return pieces;
  }

  it('writes what the library writes, in pieces where a field is long', async () => {
    const units = ['a', '"', '=1', '\r\n', 'ü', '😀', '\u0000,'];
    const rows = units.flatMap((unit) => [
      ['short', unit],
      [unit.repeat(70_000), 'short'],
      ['=x', unit.repeat(70_001)],
    ]);
    const valuesOf = (text: string) => parseCsv(`a,b\r\n${text}`);
    // The library quotes a long field only where it has to.
    const isSame = isDeepStrictEqual(valuesOf((await piecesOf(rows)).join('')), valuesOf(csvLines(rows)));
    expect(isSame).toBe(true);
  });

  it('writes 5 MiB of quotes in pieces of 128 KiB', async () => {
    const pieces = await piecesOf([['x', '"'.repeat(5 * 1024 * 1024)]]);
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(128 * 1024);
    expect(pieces.join('')).toHaveLength(10 * 1024 * 1024 + 'x,""\r\n'.length);
  });
});

describe('csvLines', () => {
  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', "'=1+1"],
    ['@sum', "'@sum"],
    ['-2', "'-2"],
    ['+3', "'+3"],
    ['\t=1', "'\t=1"],
    ['\r\n=1', '"\'\r\n=1"'],
  ])('%j', (field, expected) => {
    expect(csvLines([[field, 'x']])).toBe(`${expected},x\r\n`);
  });

  it('is read back as it was, behind an apostrophe at most', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter }), { minLength: 2, maxLength: 5 }), (fields) => {
        const names = fields.map((_field, index) => `c${index}`);
        const [row = {}] = parseCsv(csvLines([names, fields]));
        for (const [index, field] of fields.entries()) expect([field, `'${field}`]).toContain(row[`c${index}`]);
      }),
    );
  });
});
