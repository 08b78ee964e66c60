import fc from 'fast-check';
import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { contentInTurn, encodeBody, encodeLargeBody, textEntity } from './content';
import { findLinks, findLinksInTurns, trackHtmlInTurns } from './track-html';

const MIB = 1024 * 1024;

describe('a large text', () => {
  const unit = fc.constantFrom('a', 'é', '字', ' ', '.', 'From ', '=_', '\n', '\r', '\r\n', '\t', 'x'.repeat(70));
  const line = fc.constantFrom(
    'short line\n',
    'short line\r\n',
    'x'.repeat(76) + '\r',
    'é\n',
    '字字字\n',
    'long '.repeat(30),
  );

  it('is encoded as it would be in one piece', async () => {
    const text = fc
      .tuple(line, fc.integer({ min: 230_000, max: 240_000 }), fc.array(unit, { maxLength: 6 }), fc.boolean())
      .map(([filler, length, end, again]) => {
        const beginning = filler.repeat(length / filler.length) + end.join('');
        return again ? beginning + filler.repeat(1_000) : beginning;
      });
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        const [large, whole] = [await encodeLargeBody(given), encodeBody(given)];
        expect(large.encoding).toBe(whole.encoding);
        expect(large.bytes.equals(whole.bytes)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['quoted-printable', '=.\n'.repeat(MIB)],
    ['base64', '字'.repeat(MIB)],
    ['plain lines', 'short line\n'.repeat(MIB / 4)],
    ['plain lines of nothing', '\n'.repeat(4 * MIB)],
  ])('lets others have their turn while it becomes %s', async (_what, text) => {
    expect(await loopTurnsOf(() => textEntity('html', text))).toBeGreaterThanOrEqual(8);
  });
});

describe('several large texts at once', () => {
  it('are encoded a piece in each turn, not a piece of each', async () => {
    const text = '=.\n'.repeat(MIB / 3);
    const one = await loopTurnsOf(() => textEntity('html', text));
    const all = await loopTurnsOf(() => Promise.all(Array.from({ length: 8 }, () => textEntity('html', text))));
    expect(all).toBeGreaterThanOrEqual(6 * one);
  });

  it('have their texts derived and their links found in a turn for each', async () => {
    const html = '<p>x</p>'.repeat(3_000);
    const eight = Array.from({ length: 8 }, () => html);
    expect(
      await loopTurnsOf(() => Promise.all(eight.map((each) => contentInTurn({ html: each })))),
    ).toBeGreaterThanOrEqual(8);
    const track = (each: string) => trackHtmlInTurns(each, { linkFor: () => undefined });
    expect(await loopTurnsOf(() => Promise.all(eight.map(track)))).toBeGreaterThanOrEqual(8);
  });
});

describe('large html', () => {
  const piece = fc.constantFrom(
    ...[
      '<a href="https://a.example/?b=1&amp;c=2">',
      "<a href='https://b.example/'>",
      '<a href=https://c.example/>',
      '</a>',
    ],
    ...[
      '<!-- <a href="https://d.example/"> -->',
      '<script>"</',
      '</script>',
      '</body>',
      '<p',
      '>',
      'x',
      '&amp',
      '😀',
      '<a data-waybill-track="off" ',
    ],
    ...[
      'href="https://e.example/',
      '"',
      "'",
      '<![CDATA[',
      ']]>',
      '<style>',
      '</style>',
      '<title>',
      '</title>',
      '&#x41;',
    ],
  );

  it('has the same links wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.integer({ min: 1, max: 9 }), async (pieces, turn) => {
        const html = pieces.join('');
        const [cut, whole] = [await findLinksInTurns(html, turn), findLinks(html)];
        expect([cut.links, cut.bodyEnd]).toEqual([whole.links, whole.bodyEnd]);
      }),
      { numRuns: 500 },
    );
  });

  it('lets others have their turn while it is tracked', async () => {
    const html = '<p>x</p>'.repeat(MIB / 4);
    expect(await loopTurnsOf(() => trackHtmlInTurns(html, { linkFor: () => undefined }))).toBeGreaterThanOrEqual(12);
  });
});
