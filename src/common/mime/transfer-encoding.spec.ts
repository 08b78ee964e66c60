import fc from 'fast-check';
import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { decodeBase64, decodedLength, decodeTransfer, decodeTransferInTurns } from './transfer-encoding';

const WINDOW = 256 * 1024;
const repeat = (text: string, bytes: number) => Buffer.from(text.repeat(Math.ceil(bytes / text.length)));

describe('decodeTransferInTurns', () => {
  it.each([
    ['base64 in lines of 76', 'base64', repeat(`${'QUJD'.repeat(19)}\r\n`, 3 * WINDOW)],
    ['base64 in lines of 75, which no window divides', 'Base64 ', repeat(`${'QUJDR'.repeat(15)}\r\n`, 3 * WINDOW)],
    ['base64 without lines', 'base64', repeat('QUJD', 2 * WINDOW)],
    ['quoted-printable', 'quoted-printable', repeat('a=3D b=C3=A4 soft=  \r\nnext\r\n', 3 * WINDOW)],
    ['one endless line of escapes', 'quoted-printable', repeat('=41', 2 * WINDOW + 7)],
    [
      'one endless line with a break at a window’s end',
      'quoted-printable',
      repeat('x'.repeat(WINDOW - 5) + '=   \r\n', 3 * WINDOW),
    ],
    ['no encoding', '8bit', repeat('=41', 2 * WINDOW)],
  ])('%s is what it is in one piece', async (_what, encoding, body) => {
    expect((await decodeTransferInTurns(body, encoding)).equals(decodeTransfer(body, encoding))).toBe(true);
  });

  it('quoted-printable of any kind is what it is in one piece', async () => {
    const piece = fc.constantFrom('=', '=4', '=41', '=\n', '= \t\r\n', '\r\n', 'x', '='.repeat(20));
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), fc.nat(80), async (pieces, shift) => {
        const body = Buffer.from('x'.repeat(WINDOW - shift) + pieces.join('') + 'y'.repeat(20));
        const [one, other] = [
          await decodeTransferInTurns(body, 'quoted-printable'),
          decodeTransfer(body, 'quoted-printable'),
        ];
        expect(one.toString('latin1')).toBe(other.toString('latin1'));
      }),
      { numRuns: 60 },
    );
  });

  it('lets others have their turn', async () => {
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    await decodeTransferInTurns(repeat('=41', 40 * WINDOW), 'quoted-printable');
    clearInterval(counting);
    expect(turns).toBeGreaterThan(3);
  });
});

const STRICT = /^[A-Za-z0-9+/]*={0,2}$/;

describe('decodeBase64', () => {
  it('decodes what is base64, and nothing else', async () => {
    const near = fc.string({ unit: fc.constantFrom('A', 'b', '9', '+', '/', '=', '-', '\n', 'é'), maxLength: 12 });
    const text = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64')),
      near,
    );
    await fc.assert(
      fc.asyncProperty(text, async (base64) => {
        const isBase64 = base64.length % 4 === 0 && STRICT.test(base64);
        const expected = isBase64 ? Buffer.from(base64, 'base64') : undefined;
        expect(await decodeBase64(base64, 'a')).toEqual(expected);
        if (expected) expect(decodedLength(base64)).toBe(expected.length);
      }),
      { numRuns: 1_000 },
    );
  });

  it('decodes long texts as it does short ones, and lets others have their turn', async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000_001 }, (_, index) => (index * 7) % 251));
    const base64 = bytes.toString('base64');
    expect(
      await loopTurnsOf(async () => expect((await decodeBase64(base64, 'a'))?.equals(bytes)).toBe(true)),
    ).toBeGreaterThanOrEqual(15);
  });

  it.each([0, 262_143, 262_144, 3_999_999])('refuses another character at %d', async (at) => {
    const base64 = 'A'.repeat(4_000_000);
    for (const other of ['=', '-']) {
      const changed = base64.slice(0, at) + other + base64.slice(at + 1);
      expect((await decodeBase64(changed, 'a')) === undefined).toBe(other === '-' || at < 3_999_998);
    }
  });
});
