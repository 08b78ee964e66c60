import fc from 'fast-check';
import { parseCsv } from '../../../../test/setup/parse-csv';
import { csvLines } from './export.file';
import { anyCharacter } from '../../../../test/factories/any-character';

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
