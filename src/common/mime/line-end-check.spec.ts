import fc from 'fast-check';
import { LineEndCheck } from './line-end-check';

function check(text: string, sizes: readonly number[] = []): string {
  const lineEnds = new LineEndCheck();
  let at = 0;
  for (const size of sizes) {
    lineEnds.add(Buffer.from(text.slice(at, at + size), 'latin1'));
    at += size;
  }
  lineEnds.add(Buffer.from(text.slice(at), 'latin1'));
  return lineEnds.result;
}

/** The same by pattern, over the whole text. */
function expected(text: string): string {
  if (/\r(?!\n)/.test(text)) return 'mixed';
  if (!/(?<!\r)\n/.test(text)) return 'crlf';
  return text.includes('\r\n') ? 'mixed' : 'lf';
}

describe('LineEndCheck', () => {
  it.each([
    ['', 'crlf'],
    ['a', 'crlf'],
    ['a\r\n\r\nb\r\n', 'crlf'],
    ['a\n\nb\n', 'lf'],
    ['a\r\nb\n', 'mixed'],
    ['a\rb\r\n', 'mixed'],
    ['a\r\n.\r', 'mixed'],
    ['a\r\r\n', 'mixed'],
  ])('%j is %s', (text, result) => {
    expect(check(text)).toBe(result);
  });

  it('says the same whatever pieces a message comes in', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', '.', '\r', '\n', '\r\n'), maxLength: 30 });
    fc.assert(
      fc.property(texts, fc.array(fc.nat(4), { maxLength: 12 }), (text, sizes) => {
        expect(check(text, sizes)).toBe(expected(text));
      }),
    );
  });
});
