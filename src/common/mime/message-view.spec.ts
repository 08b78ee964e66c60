import fc from 'fast-check';
import MailComposer from 'nodemailer/lib/mail-composer';
import { mutate, mutations } from '../../../test/corpus/mutate-message';
import { readFile, readMessage } from './message-view';
import { PART_LIMITS } from './message-parts';
import { decodeQuotedPrintable } from './transfer-encoding';
import { loopTurnsOf } from '../../../test/setup/loop-turns';

const read = (text: string) => readMessage(Buffer.from(text, 'latin1'));
const flat = (text: string | undefined) => (text ?? '').replace(/\r\n/g, '\n').trimEnd();

describe('readMessage', () => {
  it.each([
    ['many fields', 'X-Field: x\r\n'.repeat(9_000)],
    ['more fields than are shown', 'X-Field: x\r\n'.repeat(20_000)],
    ['a list of recipients', `Cc: ${'someone@example.com,\r\n '.repeat(20_000)}last@example.com\r\n`],
    ['one long field', `X-Long: ${'x'.repeat(300_000)}\r\n`],
  ])('takes no part of a long header for the body: %s', async (_what, fields) => {
    const { text } = await read(`Content-Type: text/plain\r\n${fields}Subject: s\r\n\r\nGood morning`);
    expect(text).toBe('Good morning');
  });

  it('reads the content type behind thousands of lines', async () => {
    const { html } = await read(`${'X-Field: x\r\n'.repeat(5_000)}Content-Type: text/html\r\n\r\n<p>hi</p>`);
    expect(html).toBe('<p>hi</p>');
  });

  it('finds texts, html and files of a message that a mail library has made', async () => {
    const bytes = await new MailComposer({
      from: 'a@b.example',
      subject: 'Bücher',
      text: 'Grüße, = und mehr\n'.repeat(40),
      html: '<p>Grüße</p>',
      attachments: [
        {
          filename: 'Rechnung für März – lang genug, dass sie nach RFC 2231 geteilt wird, und länger.pdf',
          content: 'x',
        },
        { filename: 'logo.png', cid: 'logo@x', content: Buffer.from([1, 2, 3]) },
        { contentType: 'message/rfc822', content: 'Subject: inner\r\n\r\ninner' },
      ],
      icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR' },
    })
      .compile()
      .build();
    const message = await readMessage(bytes);
    expect(flat(message.text)).toBe('Grüße, = und mehr\n'.repeat(40).trimEnd());
    expect(flat(message.html)).toBe('<p>Grüße</p>');
    const names = message.files.map(({ filename }) => filename);
    expect(names).toEqual(
      expect.arrayContaining([
        'Rechnung für März – lang genug, dass sie nach RFC 2231 geteilt wird, und länger.pdf',
        'logo.png',
      ]),
    );
    expect(message.files.map(({ contentType }) => contentType)).toEqual(
      expect.arrayContaining(['text/calendar', 'message/rfc822', 'image/png']),
    );
    const logo = message.files.find(({ filename }) => filename === 'logo.png')!;
    expect(logo).toMatchObject({ size: 3, contentId: 'logo@x' });
    expect((await readFile(bytes, logo.index))?.bytes).toEqual(Buffer.from([1, 2, 3]));
    expect(await readFile(bytes, message.files.length)).toBeUndefined();
  });

  it('takes a message without structure, in the charset that it names, and one without anything', async () => {
    expect((await read('Subject: x\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\nB\xfccher')).text).toBe(
      'Bücher',
    );
    expect((await read('Subject: x\n\nB\xc3\xbccher\n')).text).toBe('Bücher\n');
    expect(await read('')).toMatchObject({ text: '', files: [] });
  });

  it('names files without folders and controls', async () => {
    const names = ['../../etc/passwd', 'a\\b\\c.txt', '..', ''];
    for (const name of names) {
      const { files } = await read(`Content-Type: application/pdf; name="${name.replaceAll('\\', '\\\\')}"\r\n\r\nx`);
      expect(files[0]?.filename).toMatch(/^[^/\\]+$/);
      expect(files[0]?.filename).not.toMatch(/^\.+$/);
    }
  });

  const LONG = `${'名'.repeat(100)}.pdf`;

  it.each([
    ['in UTF-8 as it is', `filename="${Buffer.from(LONG).toString('latin1')}"`, LONG],
    ['in one piece of RFC 2231', `filename*=utf-8''${encodeURIComponent(LONG)}`, LONG],
    ['in a long encoded word', `filename="=?utf-8?B?${Buffer.from(LONG).toString('base64')}?="`, LONG],
    // Section 4.1: what has no asterisk behind its number is as it is.
    [
      'in pieces, of which one is not encoded',
      `filename*0*=utf-8''%E2%82%AC%20; filename*1="100%25.txt"`,
      '€ 100%25.txt',
    ],
  ])('has the whole name of a file %s', async (_how, given, filename) => {
    const { files } = await read(`Content-Type: image/png\r\nContent-Disposition: attachment; ${given}\r\n\r\nx`);
    expect(files).toMatchObject([{ filename }]);
  });

  it('is bounded by depth, parts and delimiters', async () => {
    const head = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n';
    const many = await read(`${head}${'--b\r\n\r\ntext\r\n'.repeat(PART_LIMITS.parts * 2)}--b--\r\n`);
    expect(many.parts.length).toBe(PART_LIMITS.parts);
    const nested = Array.from({ length: 20 }, (_, level) => {
      return `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`;
    });
    expect((await read(`${nested.join('')}\r\nend\r\n`)).files).toHaveLength(1);
    const almost = await read(`${head}${'\n--bx'.repeat(PART_LIMITS.candidates * 2)}\n--b\r\n\r\nlate`);
    expect(almost.text).toBeUndefined();
  });

  it('never throws, whatever the bytes', async () => {
    const whole = Buffer.from(
      'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n' +
        "a=C3=\r\n=BC\r\n--b\r\nContent-Disposition: attachment; filename*=utf-8''%e2%82%ac\r\n\r\nYQ==\r\n--b--\r\n",
    );
    await fc.assert(
      fc.asyncProperty(mutations, async (changes) => {
        const message = mutate(whole, whole, changes);
        const { files } = await readMessage(message);
        for (const { index, size } of files) expect((await readFile(message, index))?.bytes.length).toBe(size);
      }),
      { numRuns: 100 },
    );
  });
});

describe('decodeQuotedPrintable', () => {
  it.each([
    ['a=3Db', 'a=b'],
    ['a=3db', 'a=b'],
    ['a=\r\nb', 'ab'],
    ['a= \t\nb', 'ab'],
    ['100 % = all', '100 % = all'],
    ['=', '='],
    ['=4', '=4'],
    ['=GG', '=GG'],
  ])('reads %j as %j', (encoded, decoded) => {
    expect(decodeQuotedPrintable(Buffer.from(encoded)).toString()).toBe(decoded);
  });

  it.each([
    ['utf-8', 'x\u00e9\u20ac😀'],
    ['utf-16le', 'x\u00e9\u20ac😀'],
    ['iso-2022-jp', 'xxxxxxxxxx'],
  ])('a long text in %s is what it is in one piece, and others have their turn', async (charset, unit) => {
    const bytes = Buffer.from(unit.repeat(100_000), charset === 'utf-16le' ? 'utf16le' : 'utf8');
    const head = Buffer.from(`Content-Type: text/plain; charset=${charset}\r\n\r\n`);
    let text: string | undefined;
    const turns = await loopTurnsOf(async () => ({ text } = await readMessage(Buffer.concat([head, bytes]))));
    expect(text).toBe(new TextDecoder(charset).decode(bytes));
    expect(turns).toBeGreaterThan(bytes.length / (256 * 1024));
  });
});
