import * as fc from 'fast-check';
import {
  isNegative,
  isPositive,
  lastLine,
  MAX_LINE_BYTES,
  MAX_REPLY_BYTES,
  MAX_REPLY_LINES,
  SmtpReplyParser,
  wholeLines,
} from './smtp-reply';
import type { SmtpReply } from './smtp-reply';

interface Outcome {
  replies: SmtpReply[];
  violation: string | undefined;
  isBetweenReplies: boolean;
}

function parse(...chunks: (string | Buffer)[]): Outcome {
  const parser = new SmtpReplyParser();
  const replies = chunks.flatMap((chunk) =>
    parser.push(typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk),
  );
  return { replies, violation: parser.violation, isBetweenReplies: parser.isBetweenReplies };
}

describe('SmtpReplyParser', () => {
  it('reads a reply of one line', () => {
    expect(parse('250 2.1.0 sender ok\r\n')).toEqual({
      replies: [{ code: 250, enhancedCode: '2.1.0', lines: ['2.1.0 sender ok'] }],
      violation: undefined,
      isBetweenReplies: true,
    });
  });

  it('reads a reply of several lines', () => {
    expect(parse('550-5.1.1 no\r\n550-5.1.1 such\r\n550 5.1.1 user\r\n').replies).toEqual([
      { code: 550, enhancedCode: '5.1.1', lines: ['5.1.1 no', '5.1.1 such', '5.1.1 user'] },
    ]);
  });

  it('reads several replies from one chunk', () => {
    expect(parse('250 a\r\n250 b\r\n354 c\r\n').replies.map((reply) => reply.code)).toEqual([250, 250, 354]);
  });

  it.each([['250\r\n'], ['250 \r\n'], ['250-\r\n250\r\n']])('reads %j, a reply without text', (text) => {
    const [reply] = parse(text).replies;
    expect(reply?.code).toBe(250);
    expect(reply?.lines.join('')).toBe('');
  });

  it('takes bare LF for a line end, as other clients do', () => {
    expect(parse('250-a\n250 b\n').replies).toEqual([{ code: 250, lines: ['a', 'b'] }]);
  });

  it('keeps an unfinished line until its end arrives', () => {
    const parser = new SmtpReplyParser();
    expect(parser.push(Buffer.from('250 o'))).toEqual([]);
    expect(parser.isBetweenReplies).toBe(false);
    expect(parser.push(Buffer.from('k\r\n'))).toEqual([{ code: 250, lines: ['ok'] }]);
    expect(parser.isBetweenReplies).toBe(true);
    parser.push(Buffer.from('250-first\r\n'));
    expect(parser.isBetweenReplies).toBe(false);
  });

  it.each([
    ['000 x'],
    ['199 x'],
    ['600 x'],
    ['999 x'],
    ['abc x'],
    ['25 x'],
    ['2500 x'],
    ['250\tx'],
    [' 250 x'],
    ['250_x'],
    ['2\u00b20 x'],
    ...[['2a0 x'], ['25a x'], ['2:0 x'], ['25: x'], ['2/0 x'], ['25/ x'], ['2'], ['25'], ['20']],
    [''],
    ['<html>'],
  ])('refuses the line %j', (line) => {
    const { replies, violation } = parse(`${line}\r\n`);
    expect(replies).toEqual([]);
    expect(violation).toBe(`not a reply line: "${line.replace(/[\t\u00b2]/g, (odd) => (odd === '\t' ? ' ' : '?'))}"`);
  });

  it('takes any code from 200 to 599, since only the first digit decides', () => {
    for (const code of [200, 299, 450, 500, 501, 509, 599]) {
      expect(parse(`${code} odd\r\n`).replies).toEqual([{ code, lines: ['odd'] }]);
    }
  });

  it('refuses lines of one reply with different codes', () => {
    const { replies, violation } = parse('250-yes\r\n550 no\r\n');
    expect(replies).toEqual([]);
    expect(violation).toBe('reply lines with different codes: "550 no"');
  });

  it('returns the replies before a violation, and nothing after it', () => {
    const { replies, violation } = parse('250 a\r\nrubbish\r\n250 b\r\n', '250 c\r\n');
    expect(replies).toHaveLength(1);
    expect(violation).toBe('not a reply line: "rubbish"');
  });

  it('keeps nothing of what it will never complete', () => {
    const inReply = { replies: [], violation: 'not a reply line: "rubbish"', isBetweenReplies: true };
    expect(parse('250-a\r\nrubbish\r\n')).toEqual(inReply);
    expect(parse('250-a\r\nrubbish\r\n', '250 b')).toEqual(inReply);
    const tooLong = { replies: [], violation: `reply line too long: "250 a${'x'.repeat(95)}"`, isBetweenReplies: true };
    expect(parse('250 a', 'x'.repeat(MAX_LINE_BYTES))).toEqual(tooLong);
  });

  it('makes controls, NUL and non-ASCII printable', () => {
    expect(parse('550 a\x00b\x1b[31mc\td\xe9\re\r\n').replies).toEqual([{ code: 550, lines: ['a?b?[31mc d??e'] }]);
    expect(parse('250 \x1b\x00\r\n').replies).toEqual([{ code: 250, lines: ['??'] }]);
  });

  it.each([
    ['Empfänger unbekannt', 'Empfänger unbekannt'],
    ['用户不存在', '用户不存在'],
    ['Пользователь не найден', 'Пользователь не найден'],
    ['a\u202eb\u00a0c\u{1f600}d\u0085e\ufefff', 'a?b?c?d?e?f'],
  ])('keeps words in UTF-8, and nothing that is no word: %s', (said, kept) => {
    const utf8 = Buffer.from(`550 5.1.1 ${said}\r\n`).toString('latin1');
    expect(parse(utf8).replies).toEqual([{ code: 550, enhancedCode: '5.1.1', lines: [`5.1.1 ${kept}`] }]);
  });

  it.each([
    ['250 2.0.0', '2.0.0'],
    ['250 2.0.0 ok', '2.0.0'],
    ['452 4.3.1 full', '4.3.1'],
    ['550 5.7.509 no', '5.7.509'],
    ['550 5.17.1 no', '5.17.1'],
    ['550 4.1.1 class does not agree', undefined],
    ['550 5.1.1234 too long', undefined],
    ['550 5.1.1x', undefined],
    ['550 see 5.1.1', undefined],
    ['354 3.0.0 go', undefined],
  ])('reads the enhanced code of %j', (line, expected) => {
    expect(parse(`${line}\r\n`).replies[0]?.enhancedCode).toBe(expected);
  });

  describe('limits', () => {
    const longest = `250 ${'x'.repeat(MAX_LINE_BYTES - 5)}`;

    it('takes the longest line', () => {
      expect(parse(`${longest}\r\n`).replies).toHaveLength(1);
      expect(parse(`${longest}\r`, '\n').replies).toHaveLength(1);
    });

    it.each([[`${longest}y\r\n`], ['x'.repeat(MAX_LINE_BYTES + 1)], ['x'.repeat(65_536)]])(
      'refuses longer ones',
      (text) => {
        expect(parse(text)).toMatchObject({ replies: [], violation: `reply line too long: "${text.slice(0, 100)}"` });
      },
    );

    it('takes the most lines and refuses one more', () => {
      const most = '250-x\r\n'.repeat(MAX_REPLY_LINES - 1);
      expect(parse(`${most}250 x\r\n`).replies).toHaveLength(1);
      expect(parse(`${most}250-x\r\n250 x\r\n`).violation).toBe('reply with too many lines: "250 x"');
    });

    it('takes the largest reply and refuses one byte more', () => {
      const lines = (text: string) => `250-${text}\r\n`.repeat(MAX_REPLY_BYTES / MAX_LINE_BYTES - 1);
      const most = lines('x'.repeat(MAX_LINE_BYTES - 6));
      const last = `250 ${'x'.repeat(MAX_LINE_BYTES - 6)}`;
      expect(parse(`${most}${last}\r\n`)).toMatchObject({ violation: undefined, replies: [{ code: 250 }] });
      expect(parse(`${most}${last}y\r\n`)).toMatchObject({
        violation: `reply too large: "${last.slice(0, 100)}"`,
        replies: [],
      });
    });

    it('refuses a reply that is too large in all', () => {
      const line = `250-${'x'.repeat(1_994)}\r\n`;
      expect(parse(line.repeat(Math.floor(MAX_REPLY_BYTES / 2_000) + 2)).violation).toMatch(
        /^reply too large: "250-x{96}"$/,
      );
    });

    it('counts each reply separately', () => {
      const reply = `${'250-x\r\n'.repeat(99)}250 x\r\n`;
      expect(parse(reply.repeat(200))).toMatchObject({ violation: undefined });
    });
  });

  describe('properties', () => {
    const line = fc.tuple(
      fc.integer({ min: 200, max: 599 }),
      fc.string({ maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, '')),
    );
    const noise = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    const conversation = fc.array(
      fc.oneof(
        { weight: 6, arbitrary: line.map(([code, text]) => Buffer.from(`${code} ${text}\r\n`)) },
        { weight: 3, arbitrary: line.map(([code, text]) => Buffer.from(`${code}-${text}\r\n${code} ${text}\n`)) },
        { weight: 1, arbitrary: noise },
        { weight: 1, arbitrary: fc.nat(2_100).map((length) => Buffer.from(`250 ${'x'.repeat(length)}\r\n`)) },
      ),
      { maxLength: 12 },
    );

    function cut(bytes: Buffer, cuts: number[]): Buffer[] {
      const at = [...new Set(cuts.map((each) => each % (bytes.length + 1)))].sort((a, b) => a - b);
      return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
    }

    it('any chunking gives the same replies', () => {
      fc.assert(
        fc.property(conversation, fc.array(fc.nat(), { maxLength: 20 }), (parts, cuts) => {
          const bytes = Buffer.concat(parts);
          expect(parse(...cut(bytes, cuts))).toEqual(parse(bytes));
        }),
        { numRuns: 500 },
      );
    });

    it('every byte alone gives the same replies', () => {
      fc.assert(
        fc.property(conversation, (parts) => {
          const bytes = Buffer.concat(parts);
          expect(parse(...[...bytes].map((byte) => Buffer.from([byte])))).toEqual(parse(bytes));
        }),
        { numRuns: 100 },
      );
    });

    it('random bytes never throw, and what comes out is bounded and printable', () => {
      fc.assert(
        fc.property(fc.array(noise, { maxLength: 20 }), (chunks) => {
          for (const reply of parse(...chunks).replies) {
            expect(reply.code).toBeGreaterThanOrEqual(200);
            expect(reply.code).toBeLessThanOrEqual(599);
            expect(reply.lines.length).toBeLessThanOrEqual(MAX_REPLY_LINES);
            expect(reply.lines.join('')).toMatch(/^[\x20-\x7e\p{L}\p{M}\p{N}\p{P}\p{S}]*$/u);
            expect(reply.lines.join('')).not.toMatch(/[\u{10000}-\u{10ffff}]/u);
          }
        }),
        { numRuns: 1_000 },
      );
    });
  });
});

describe('lastLine', () => {
  it('is the last line with its code', () => {
    expect(lastLine({ code: 550, lines: ['5.1.1 no', '5.1.1 user'] })).toBe('550 5.1.1 user');
    expect(lastLine({ code: 250, lines: [''] })).toBe('250');
    expect(lastLine({ code: 250, lines: [] })).toBe('250');
  });
});

describe('wholeLines', () => {
  it.each([
    [
      ['5.1.1 no', '', '5.1.1 user '],
      ['550-5.1.1 no', '550-', '550 5.1.1 user'],
    ],
    [['no '], ['550 no']],
    [
      ['no ', 'more'],
      ['550-no', '550 more'],
    ],
  ])('of %j are as they came', (lines, whole) => {
    expect(wholeLines({ code: 550, lines })).toEqual(whole);
  });
});

describe('a reply', () => {
  it.each([
    [200, true, false],
    [299, true, false],
    [300, false, false],
    [399, false, false],
    [400, false, true],
    [599, false, true],
  ])('of %s is positive: %s, negative: %s', (code, positive, negative) => {
    const reply = { code, lines: [''] };
    expect([isPositive(reply), isNegative(reply)]).toEqual([positive, negative]);
  });
});
