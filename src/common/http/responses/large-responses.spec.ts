import fc from 'fast-check';
import { escapeHtml } from './html-page';
import { eventfulPieces, jsonInTurns, jsonPieces, listPieces } from '../../async/text-in-turns';
import { escapedInTurns, inertInTurns } from './large-responses';
import { loopTurnsOf, PerTurn } from '../../../../test/setup/loop-turns';

const PIECE = 64 * 1024;
const READER = { holder: 'acme' };
const joined = async (pieces: Promise<Buffer[]>): Promise<string> => Buffer.concat(await pieces).toString();
/** Short, long, and around the end of a piece. */
const TEXT = fc
  .tuple(
    fc.constantFrom(0, 1, PIECE - 2, PIECE - 1, PIECE, 2 * PIECE - 1),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
  )
  .map(([length, text]) => `${'x'.repeat(length)}${text}😀"\\\u0001<&'`);

describe('responses with long texts', () => {
  it('are the JSON that they are in one piece', async () => {
    const value = fc.dictionary(fc.string(), fc.oneof(TEXT, fc.array(TEXT, { maxLength: 3 }), fc.jsonValue()));
    await fc.assert(
      fc.asyncProperty(value, async (given) => {
        const text = (await jsonInTurns({ data: given })).toString();
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ data: given })));
      }),
      { numRuns: 50 },
    );
  });

  it('are the JSON of a list that they are in one piece', async () => {
    const list = fc.record({
      data: fc.array(fc.oneof(TEXT, fc.jsonValue())),
      total: fc.option(fc.nat(), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(list, async (given) => {
        expect(JSON.parse(await joined(listPieces(given, READER)))).toEqual(JSON.parse(JSON.stringify(given)));
        const { data: events, ...others } = given;
        const email = JSON.stringify({ data: { ...others, events } });
        expect(JSON.parse(await joined(eventfulPieces({ ...others, events }, READER)))).toEqual(JSON.parse(email));
      }),
      { numRuns: 50 },
    );
  });

  it('are the html that they are in one piece', async () => {
    await fc.assert(
      fc.asyncProperty(TEXT, async (text) => {
        expect((await escapedInTurns(text)).toString()).toBe(escapeHtml`${text}`.toString());
        expect((await inertInTurns(text)).toString()).toBe(text);
      }),
      { numRuns: 50 },
    );
  });

  it('have no frame of a mail, wherever it begins', async () => {
    const frames = `<iframe src="https://spy.example"></IFRAME><Frame src=x><iframe/srcdoc="<iframe>">< iframe><i>`;
    const shown = `<x-iframe src="https://spy.example"></IFRAME><x-Frame src=x><x-iframe/srcdoc="<x-iframe>">< iframe><i>`;
    for (let before = PIECE - frames.length; before <= PIECE; before += 1) {
      const text = (before % 2 === 0 ? 'x' : '<').repeat(before);
      const document = (await inertInTurns(`${text}${frames}`)).toString();
      expect(document === `${text}${shown}`).toBe(true);
    }
  });

  it('have no link of a mail, wherever it begins', async () => {
    const links = `<a href="https://spy.example">x</a><A\nhref=x><area/href=x><abbr><a><math href=x><set><ANIMATE to=x><iframe><b>`;
    const shown = `<a href=#- href="https://spy.example">x</a><A href=#-\nhref=x><area href=#-/href=x><abbr><a><x-math href=x><x-set><x-ANIMATE to=x><x-iframe><b>`;
    for (let before = PIECE - links.length; before <= PIECE; before += 1) {
      const text = (before % 2 === 0 ? 'x' : '<').repeat(before);
      const document = (await inertInTurns(`${text}${links}`)).toString();
      expect(document === `${text}${shown}`).toBe(true);
    }
  });

  it('let others have their turn', async () => {
    const text = '"'.repeat(20 * PIECE);
    expect(await loopTurnsOf(() => jsonInTurns({ text, html: text }))).toBeGreaterThan(30);
    expect(await loopTurnsOf(() => listPieces({ data: Array(40).fill('x'.repeat(PIECE)) }, READER))).toBeGreaterThan(
      30,
    );
    expect(
      await loopTurnsOf(() => eventfulPieces({ events: Array(40).fill('x'.repeat(PIECE)) }, READER)),
    ).toBeGreaterThan(30);
    expect(await loopTurnsOf(() => escapedInTurns(text))).toBeGreaterThan(15);
    expect(await loopTurnsOf(() => inertInTurns('<'.repeat(20 * PIECE)))).toBeGreaterThan(15);
    expect(await loopTurnsOf(() => inertInTurns('<a '.repeat(7 * PIECE)))).toBeGreaterThan(15);
  });

  it('are written in one piece per turn, however many are written at once', async () => {
    const perTurn = new PerTurn();
    const write = (holder: string): Promise<unknown> => {
      let before = 0;
      const onWritten = (bytes: number): void => {
        if (bytes - before >= PIECE) perTurn.count();
        before = bytes;
      };
      return jsonPieces({ html: 'x'.repeat(8 * PIECE) }, { holder, onWritten });
    };
    await Promise.all(['acme', 'acme', 'acme', 'globex', 'globex', 'globex'].map(write));
    expect(perTurn.total).toBe(48);
    // A piece may run before the count of the turn before it is over.
    expect(perTurn.most).toBeLessThanOrEqual(2);
  });

  it('end where there is no room for more of them', async () => {
    const onWritten = (bytes: number): void => {
      if (bytes > 3 * PIECE) throw new Error(`no room for ${bytes}`);
    };
    const long = 'x'.repeat(PIECE + 1);
    const events = Array<string>(8).fill(long);
    const reader = { holder: 'acme', onWritten };
    await expect(jsonPieces(events, reader)).rejects.toThrow(/^no room for 196\d{3}$/);
    await expect(listPieces({ data: events }, reader)).rejects.toThrow(/^no room for 196\d{3}$/);
    await expect(eventfulPieces({ events }, reader)).rejects.toThrow(/^no room for 196\d{3}$/);
  });
});
