import { textOf } from './file-text';

const TEXT = 'Email\tNotes\r\nada@x.example\tJ\u00fcrgen \u{1f600}\r\n';
const little = (text: string) => Buffer.from(text, 'utf16le');
const big = (text: string) => little(text).swap16();

describe('the text of a file', () => {
  it('is read in UTF-8, and in UTF-16 of either order, without the byte order mark', () => {
    const files = [Buffer.from(TEXT), Buffer.from(`\ufeff${TEXT}`), little(`\ufeff${TEXT}`), big(`\ufeff${TEXT}`)];
    expect(files.map(textOf)).toEqual(files.map(() => TEXT));
    expect(['', 'a', '\ufeff'].map((text) => textOf(Buffer.from(text)))).toEqual(['', 'a', '']);
  });

  it('is none in another encoding, of UTF-16 without a mark, or cut in the middle of a character', () => {
    const files = [Buffer.from(TEXT, 'latin1'), little(TEXT), big(TEXT), little(`\ufeff${TEXT}`).subarray(0, -1)];
    expect(files.map(textOf)).toEqual(files.map(() => undefined));
  });
});
