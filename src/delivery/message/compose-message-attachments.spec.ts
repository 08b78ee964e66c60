import fc from 'fast-check';
import PostalMime from 'postal-mime';
import type { Email } from 'postal-mime';
import {
  PIXEL,
  bodyText,
  compose,
  expectSound,
  headerText,
  lines,
  message,
} from '../../../test/factories/composed-messages';
import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { composeMessage } from './compose-message';

describe('a message with attachments', () => {
  const pdf = {
    filename: 'Rechnung Größe.pdf',
    contentType: 'application/pdf',
    content: Buffer.from('%PDF\r\n\0\xff', 'latin1'),
  };
  const logo = { filename: 'logo.png', contentType: 'image/png', contentId: 'logo@x', content: PIXEL };

  it('says the same as without them', async () => {
    await fc.assert(
      fc.asyncProperty(bodyText, bodyText, headerText, async (text, html, subject) => {
        const parts = { text, html, subject, headers: { 'X-Any': subject } };
        const [own, mixed] = [await compose(parts), await compose({ ...parts, attachments: [pdf] })];
        expect([lines(mixed.text), lines(mixed.html)]).toEqual([lines(own.text), lines(own.html)]);
        const headers = (email: Email) => email.headers.filter(({ key }) => !key.startsWith('content-'));
        expect(headers(mixed)).toEqual(headers(own));
      }),
      { numRuns: 200 },
    );
  });

  it('lets others have their turn while an attached message of megabytes is looked through', async () => {
    const content = Buffer.alloc(4 * 1024 * 1024, '\n');
    const attached = { filename: 'm.eml', contentType: 'message/rfc822', content };
    const composed = { ...message({ text: 'x' }), attachments: [attached] };
    expect(await loopTurnsOf(() => composeMessage(composed))).toBeGreaterThanOrEqual(60);
  });

  it('brings file names, types and bytes across', async () => {
    const filename = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 80 })
      .map((text) => `n${text.replace(/[\x00-\x1f\x7f-\x9f]/g, '')}x`);
    await fc.assert(
      fc.asyncProperty(filename, fc.uint8Array({ maxLength: 500 }), async (name, bytes) => {
        const email = await compose({ attachments: [{ ...pdf, filename: name, content: Buffer.from(bytes) }] });
        const [attachment] = email.attachments;
        expect(attachment).toMatchObject({ filename: name, mimeType: 'application/pdf', disposition: 'attachment' });
        expect(Buffer.from(attachment!.content as ArrayBuffer)).toEqual(Buffer.from(bytes));
      }),
      { numRuns: 200 },
    );
  });

  it('puts inline parts beside the html', async () => {
    const bytes = await composeMessage(message({ html: '<img src="cid:logo@x">', attachments: [logo, pdf] }));
    expect([...bytes.toString().matchAll(/multipart\/\w+/g)].flat()).toEqual([
      'multipart/mixed',
      'multipart/alternative',
      'multipart/related',
    ]);
    const email = await PostalMime.parse(bytes);
    expect(email.attachments).toMatchObject([
      { filename: 'logo.png', disposition: 'inline', contentId: '<logo@x>', related: true },
      { filename: 'Rechnung Größe.pdf', disposition: 'attachment' },
    ]);
  });

  it('carries a large attachment whole, in turns', async () => {
    const content = Buffer.alloc(3_000_001, 'abc\r\n\xff', 'latin1');
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const email = await compose({ attachments: [{ ...pdf, content }] });
    clearInterval(timer);
    expect(Buffer.from(email.attachments[0]!.content as ArrayBuffer).equals(content)).toBe(true);
    expect(turns).toBeGreaterThan(2);
  });

  it.each([
    ['message/rfc822', 'Subject: a\n\nb', 'message/rfc822'],
    ['message/rfc822', 'Subject: ü\r\n\r\nb', 'application/octet-stream'],
    ['message/rfc822', `Subject: ${'x'.repeat(999)}\r\n\r\nb`, 'application/octet-stream'],
    ['multipart/mixed; boundary=x', '--x\r\n\r\n--x--', 'application/octet-stream'],
    ['text/calendar; method=REQUEST; charset=utf-8', 'BEGIN:VCALENDAR', 'text/calendar'],
    ['no type', 'x', 'application/octet-stream'],
    ['', 'x', 'application/octet-stream'],
  ])('sends %j as what the wire can carry', async (contentType, content, expected) => {
    const bytes = await composeMessage(
      message({ attachments: [{ filename: 'a.bin', contentType, content: Buffer.from(content) }] }),
    );
    expectSound(bytes);
    expect(bytes.toString('latin1')).toMatch(new RegExp(`\r\nContent-Type: ${expected};`));
    expect(bytes.toString('latin1')).not.toMatch(/[^\t\n\r\x20-\x7e]/);
  });

  it('gives the same bytes at every attempt', async () => {
    for (const attachments of [[], [pdf, logo]]) {
      const again = message({ html: '<p>ü</p>', attachments });
      expect(await composeMessage(again)).toEqual(await composeMessage({ ...again }));
    }
  });
});
