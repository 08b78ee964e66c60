import fc from 'fast-check';
import { csvRows } from './suppression-forms';

const fieldsOf = (text: string) => [...csvRows(text)].map(({ fields }) => fields);
const linesOf = (text: string) => [...csvRows(text)].map(({ line, fields }) => [line, fields?.[0]]);

/** RFC 4180, every field in quotes. */
const written = (rows: readonly (readonly string[])[], end: string) =>
  rows.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(',') + end).join('');

describe('the rows of a CSV text', () => {
  it('are those that were written, whatever the fields hold', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', ' ', '=', '\n', '\u00e9'), maxLength: 3 });
    const rows = fc.array(fc.array(field, { minLength: 1, maxLength: 5 }), { maxLength: 5 });
    fc.assert(
      fc.property(rows, fc.constantFrom('\n', '\r\n', '\r'), (given, end) => {
        expect(fieldsOf(written(given, end))).toEqual(given);
      }),
    );
  });

  it('go on to the end of every text, without a step back', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', '\uFEFF'), maxLength: 200 });
    fc.assert(
      fc.property(text, (given) => {
        let end = 0;
        let line = 0;
        for (const row of csvRows(given)) {
          expect(row.end).toBeGreaterThan(end);
          expect(row.line).toBeGreaterThan(line);
          ({ end, line } = row);
        }
        if (given !== '' && given !== '\uFEFF') expect(end).toBe(given.length);
      }),
    );
  });

  it('may have lines of every system, a byte order mark, and blanks around plain fields', () => {
    expect(fieldsOf('\uFEFFa,b\r\n"c, ""d""\ne",f\rg , h\n\n,')).toEqual([
      ['a', 'b'],
      ['c, "d"\ne', 'f'],
      ['g', 'h'],
      [''],
      ['', ''],
    ]);
    expect(fieldsOf('')).toEqual([]);
  });

  it('are counted by the lines of the file', () => {
    expect(linesOf('a\n"b\nb"\r\nc\n')).toEqual([
      [1, 'a'],
      [2, 'b\nb'],
      [4, 'c'],
    ]);
  });

  it('have no fields where a quote stands where none may, and the next line is read', () => {
    expect(linesOf('a\n"b"c\nd"e\nf\n')).toEqual([
      [1, 'a'],
      [2, undefined],
      [3, undefined],
      [4, 'f'],
    ]);
  });

  it('are not swallowed by a quote that is never closed', () => {
    expect(linesOf(`"open\n${'a@x.example\n'.repeat(3)}`)).toEqual([
      [1, undefined],
      [2, 'a@x.example'],
      [3, 'a@x.example'],
      [4, 'a@x.example'],
    ]);
    expect(linesOf(`"${'\n'.repeat(30)}"\n`)[0]).toEqual([1, undefined]);
    expect(fieldsOf(`"${'a'.repeat(70_000)}"\nb`)).toEqual([undefined, ['b']]);
    expect(fieldsOf(`${'a,'.repeat(300)}\nb`)).toEqual([undefined, ['b']]);
  });
});
