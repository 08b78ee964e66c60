import fc from 'fast-check';
import { displayLine } from '../../common/http/responses/downloads';
import { displayBody } from './page-layout';
import { decodedField, parseMessage, readHead, summarize } from './message-reader';
import { anyCharacter } from '../../../test/factories/any-character';
import { loopTurnsOf } from '../../../test/setup/loop-turns';

describe('display text', () => {
  it('is one line without what a page or a database cannot hold', () => {
    expect(displayLine(' a\r\n\t\0b\u2028c\ud800d\u202ee ', 100)).toBe('a b c d e');
    expect(displayLine('x'.repeat(20), 10)).toBe(`${'x'.repeat(9)}…`);
    expect(displayLine('🙂🙂🙂', 4)).toBe('🙂 …');
  });

  it('keeps the lines of a body, in one form', () => {
    expect(displayBody('a\r\nb\rc\n\td\0\x1be', 100)).toBe('a\nb\nc\n\td\ufffd\ufffde');
  });

  it('fits any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.integer({ min: 1, max: 30 }), (text, length) => {
        expect(displayLine(text, length)).not.toMatch(/[\p{Cc}\p{Cs}]/u);
        expect(displayLine(text, length).length).toBeLessThanOrEqual(length);
        expect(displayBody(text, length)).not.toMatch(/\0/);
      }),
    );
  });
});

describe('a header', () => {
  it('is read in order, unfolded, to its end', () => {
    const raw = Buffer.from('Subject: one\r\n two\r\nnonsense\r\nTo :\ta\r\n\r\nFrom: not@me.example\r\n');
    expect(readHead(raw)).toEqual([
      { name: 'Subject', value: 'one two' },
      { name: 'To', value: 'a' },
    ]);
  });

  it('shows its first field of a name, decoded', () => {
    const raw = Buffer.from(
      'SUBJECT: =?utf-8?q?=E2=82=AC?= =?utf-8?q?_x?=\r\nSubject: second\r\nFrom: =?utf-8?b?w6Q=?= <a@b>\r\n\r\n',
    );
    expect(summarize(raw)).toEqual({ subject: '€ x', sender: 'ä <a@b>' });
    expect(decodedField(readHead(raw), 'cc')).toBe('');
  });

  it('is bounded, whatever comes', () => {
    expect(summarize(Buffer.from(`Subject: ${'x'.repeat(1_000_000)}`)).subject).toHaveLength(500);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => summarize(Buffer.from(bytes)) !== undefined));
  });
});

describe('the parts of a message', () => {
  it('have names without paths, and one when they bring none', async () => {
    const part = (name: string) => `--b\r\nContent-Type: a/b\r\nContent-Disposition: attachment${name}\r\n\r\nx\r\n`;
    const names = ['', '; filename="../../x"', '; filename="C:\\\\y"', '; filename="\t"'];
    const raw = `Content-Type: multipart/mixed; boundary=b\r\n\r\n${names.map(part).join('')}--b--`;
    const content = await parseMessage(Buffer.from(raw));
    expect(content.kind === 'parts' && content.attachments.map(({ filename }) => filename)).toEqual([
      'attachment-1',
      'x',
      'y',
      'attachment-4',
    ]);
  });

  it('are found in turns of the event loop, however many lines there are', async () => {
    const lines = Buffer.from(`Subject: x\r\n\r\n${'\n'.repeat(9 * 1024 * 1024)}`);
    expect(await loopTurnsOf(() => parseMessage(lines))).toBeGreaterThan(20);
    expect(await parseMessage(lines)).toMatchObject({ kind: 'parts', text: '\n'.repeat(5 * 1024 * 1024) });
  });

  it('are not looked for in what is too large', async () => {
    expect(await parseMessage(Buffer.alloc(10 * 1024 * 1024 + 1))).toEqual({ kind: 'too-large' });
  });

  it('are found, or not, in any bytes', async () => {
    const lines = fc.constantFrom(
      '--b',
      '--b--',
      '',
      'Content-Type: multipart/mixed; boundary=b',
      'Content-Type: text/html',
      'x',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(lines, fc.string({ unit: anyCharacter })), { maxLength: 40 }),
        async (text) => {
          expect((await parseMessage(Buffer.from(text.join('\r\n')))).kind).toBe('parts');
        },
      ),
    );
  });
});
