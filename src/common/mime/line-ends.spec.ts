import fc from 'fast-check';
import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { lfToCrlf, LineEndCheck, toCrlf, toCrlfInTurns } from './line-ends';

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

describe('toCrlf', () => {
  it.each([
    ['a\nb\rc', 'a\r\nb\r\nc'],
    ['\r\r\n\n\r', '\r\n\r\n\r\n\r\n'],
    ['\n', '\r\n'],
    ['', ''],
  ])('of %j is %j', (text, expected) => {
    expect(toCrlf(Buffer.from(text)).toString()).toBe(expected);
  });

  it('copies nothing when there is nothing to do', async () => {
    const small = Buffer.from('a\r\nb');
    expect(toCrlf(small)).toBe(small);
    const large = Buffer.from('a\r\n'.repeat(200_000));
    expect(await toCrlfInTurns(large, 'a')).toBe(large);
  });

  it('makes the same of a large text, and lets others have their turn', async () => {
    const end = fc.string({ unit: fc.constantFrom('\r', '\n', 'a'), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(end, fc.nat({ max: 3 }), async (text, shift) => {
        const bytes = Buffer.from('x'.repeat(256 * 1024 - shift) + text + '\n'.repeat(300_000));
        expect((await toCrlfInTurns(bytes, 'a')).equals(toCrlf(bytes))).toBe(true);
      }),
      { numRuns: 40 },
    );
    const feeds = Buffer.alloc(4 * 1024 * 1024, '\n');
    expect(await loopTurnsOf(() => toCrlfInTurns(feeds, 'a'))).toBeGreaterThanOrEqual(32);
  });
});

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
