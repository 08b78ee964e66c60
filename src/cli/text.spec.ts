import { cell, fields, table } from './text';

describe('cell', () => {
  it.each([
    [undefined, '-'],
    [null, '-'],
    ['', '-'],
    [[], '-'],
    [['a', 'b'], 'a,b'],
    [true, 'true'],
    [0, '0'],
    [new Date('2026-01-05T12:00:00Z'), '2026-01-05T12:00:00.000Z'],
    [{ a: 1 }, '{"a":1}'],
    ['a\nb\u001b[31mc\u009b', 'a?b?[31mc?'],
  ])('%j becomes %s', (value, text) => {
    expect(cell(value)).toBe(text);
  });
});

describe('fields', () => {
  it('puts the values below each other', () => {
    expect(fields({ id: 1, longer: 'x', empty: null })).toBe('id      1\nlonger  x\nempty   -');
  });
});

describe('table', () => {
  it('aligns by characters, with a heading and without spaces at the end', () => {
    expect(
      table([
        { name: 'ünïcödé', id: 'a' },
        { name: 'x', id: 'bcd' },
      ]),
    ).toBe('name     id\nünïcödé  a\nx        bcd');
  });

  it('has a column for every property that a row has', () => {
    expect(table([{ a: 1 }, { a: 2, b: 3 }])).toBe('a  b\n1  -\n2  3');
  });

  it('says that there is nothing', () => {
    expect(table([])).toBe('(none)');
  });
});
