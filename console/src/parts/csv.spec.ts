import fc from 'fast-check';
import { parseCsv, toCsv } from './csv';

describe('CSV', () => {
  it('reads back what it has written', () => {
    const field = fc.string({ minLength: 1 }).filter((text) => !/^[=+\-@\t\r]/.test(text) && text === text.trim());
    fc.assert(
      fc.property(fc.array(fc.array(field, { minLength: 1 }), { minLength: 1 }), (rows) => {
        fc.pre(!rows[0]?.[0]?.startsWith('\uFEFF'));
        expect(parseCsv(toCsv(rows))).toEqual(rows);
      }),
    );
  });

  it('takes the lines of every system, quotes, and a byte order mark', () => {
    expect(parseCsv('\uFEFFa,b\r\n"c, ""d""\ne",f\ng , h\r\n\n')).toEqual([
      ['a', 'b'],
      ['c, "d"\ne', 'f'],
      ['g', 'h'],
    ]);
    expect(() => parseCsv('a\n"b"c')).toThrow('Line 2');
    expect(parseCsv('')).toEqual([]);
  });

  it('writes nothing that a spreadsheet would execute', () => {
    expect(toCsv([['=1+1', '@x', '-cmd', '-12.5', '+1']])).toBe("'=1+1,'@x,'-cmd,-12.5,'+1\r\n");
  });
});
