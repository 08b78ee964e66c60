import { toCsv } from './csv';

describe('CSV', () => {
  it('quotes what would break a row', () => {
    expect(toCsv([['a', 'b, c', 'd "e"', 'f\ng']])).toBe('a,"b, c","d ""e""","f\ng"\r\n');
  });

  it('writes nothing that a spreadsheet would execute', () => {
    expect(toCsv([['=1+1', '@x', '-cmd', '-12.5', '+1']])).toBe("'=1+1,'@x,'-cmd,-12.5,'+1\r\n");
  });
});
