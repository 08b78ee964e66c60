import fc from 'fast-check';
import { lfToCrlf } from './line-ends';

describe('lfToCrlf', () => {
  it.each([
    ['a\nb', 'a\r\nb'],
    ['\n\n', '\r\n\r\n'],
    ['\r\n\r\r\n\r', '\r\n\r\r\n\r'],
    ['a\r\n\nb\xe9\n', 'a\r\n\r\nb\xe9\r\n'],
    ['', ''],
  ])('of %j is %j', (text, expected) => {
    expect(lfToCrlf(Buffer.from(text, 'latin1')).toString('latin1')).toBe(expected);
  });

  it('copies nothing when there is none', () => {
    const bytes = Buffer.from('a\r\nb\r');
    expect(lfToCrlf(bytes)).toBe(bytes);
  });

  it('makes the same of a text in pieces, wherever it is cut', () => {
    const text = fc.string({ unit: fc.constantFrom('\r', '\n', 'a', '\xe9'), maxLength: 12 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 4 }), (whole, length) => {
        const bytes = Buffer.from(whole, 'latin1');
        const pieces: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += length) {
          pieces.push(lfToCrlf(bytes.subarray(at, at + length), bytes[at - 1]));
        }
        expect(Buffer.concat(pieces)).toEqual(lfToCrlf(bytes));
      }),
    );
  });
});
