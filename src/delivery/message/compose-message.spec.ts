import fc from 'fast-check';
import PostalMime from 'postal-mime';
import type { Email } from 'postal-mime';
import type { CompleteMessage } from '../ports/message-source';
import { composeMessage } from './compose-message';
import { headerNeedsSmtpUtf8 } from './header-block';

const NAMES = ['From', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type'];
const PIXEL = Buffer.from('89504e470d0a1a0a', 'hex');

function message(parts: Partial<CompleteMessage> = {}): CompleteMessage {
  return {
    organizationId: 'org',
    mode: 'live',
    emailId: '0192f3a0-1111-7abc-8def-0123456789ab',
    domainId: 'domain',
    date: new Date('2027-03-04T05:06:07Z'),
    from: { email: 'shop@mail.example', name: 'Shop' },
    to: [{ email: 'ann@b.example', name: 'Ann' }],
    cc: [],
    replyTo: [],
    subject: 'Hello',
    text: 'Good day',
    headers: {},
    attachmentBytes: 0,
    attachments: [],
    ...parts,
  };
}

/** What every message has to be on the wire, whatever is in it. */
function expectSound(bytes: Buffer): void {
  const text = bytes.toString('latin1');
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(text.endsWith('\r\n')).toBe(true);
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  for (const line of text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n')) expect(line).toMatch(/[^ \t]/);
}

async function compose(parts: Partial<CompleteMessage>): Promise<Email> {
  const bytes = await composeMessage(message(parts));
  expectSound(bytes);
  expect(bytes.toString('latin1')).not.toMatch(/[^\t\n\r\x20-\x7e]/);
  return PostalMime.parse(bytes);
}

function headerNames(email: Email): string[] {
  return email.headers.map((header) => header.originalKey);
}

/** Line ends as one kind and none at the end, where a body on its own, and the parser, may add one. */
function lines(text: string | undefined): string {
  return (text ?? '').replace(/\r\n|\r|\n/g, '\n').replace(/\n+$/, '');
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc
    .array(
      fc.constantFrom(' ', '\t', '\n', '\r\n', '\r', '.', 'From ', '--=_', '=', '=?', '?=', 'word', 'é', '字', '🦄'),
      { maxLength: 80 },
    )
    .map((parts) => parts.join('')),
);
/** Without what headers cannot carry; those characters have a test of their own. */
const headerText = anyText.map((text) => text.replace(/[\x00-\x1f\x7f-\x9f]/g, ''));
const bodyText = anyText.filter((text) => text !== '');

describe('composeMessage', () => {
  it('composes text alone', async () => {
    expect((await composeMessage(message())).toString()).toBe(
      [
        'From: Shop <shop@mail.example>',
        'To: Ann <ann@b.example>',
        'Subject: Hello',
        'Date: Thu, 04 Mar 2027 05:06:07 +0000',
        'Message-ID: <0192f3a0-1111-7abc-8def-0123456789ab@mail.example>',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        'Good day',
        '',
      ].join('\r\n'),
    );
  });

  it('composes text and html with one boundary of the email', async () => {
    const bytes = await composeMessage(message({ html: '<p>Good day</p>' }));
    expect(bytes.toString()).toContain(
      'multipart/alternative; boundary="=_0192f3a0-1111-7abc-8def-0123456789ab"\r\n\r\n--=_',
    );
    const email = await PostalMime.parse(bytes);
    expect([email.text, email.html]).toEqual([
      expect.stringMatching(/^Good day\s*$/),
      expect.stringMatching(/^<p>Good day<\/p>\s*$/),
    ]);
  });

  it('derives the text of html alone, and leaves it out where there is none', async () => {
    expect(lines((await compose({ text: undefined, html: '<h1>Hi</h1><p>there</p>' })).text)).toBe('Hi\n\nthere');
    const bytes = await composeMessage(message({ text: undefined, html: '<img src="cid:a">' }));
    expect(bytes.toString()).toContain('Content-Type: text/html');
    expect(bytes.toString()).not.toContain('multipart');
  });

  it('brings bodies of any text across, alone and together', async () => {
    await fc.assert(
      fc.asyncProperty(bodyText, bodyText, async (text, html) => {
        expect(lines((await compose({ text })).text)).toBe(lines(text));
        const both = await compose({ text, html });
        expect([lines(both.text), lines(both.html)]).toEqual([lines(text), lines(html)]);
      }),
      { numRuns: 500 },
    );
  });

  it('brings subjects and names of any text across', async () => {
    await fc.assert(
      fc.asyncProperty(headerText, headerText, headerText, async (subject, name, other) => {
        const email = await compose({
          subject,
          from: { email: 'shop@mail.example', name },
          to: [{ email: 'ann@b.example', name: other }, { email: 'bob@b.example' }],
        });
        expect((email.subject ?? '').trim()).toBe(subject.trim());
        expect(email.from).toEqual({ address: 'shop@mail.example', name: name.trim() });
        expect(email.to).toEqual([
          { address: 'ann@b.example', name: other.trim() },
          { address: 'bob@b.example', name: '' },
        ]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('lets nothing add, end or change a header field', async () => {
    const attack = fc
      .array(
        fc.constantFrom(
          '\r\n',
          '\n',
          '\r',
          '\0',
          'Bcc: eve@evil.example',
          '\r\n\r\n<p>',
          ' ',
          'x',
          '\u2028',
          '"',
          '<',
          '>',
          ',',
        ),
        { maxLength: 12 },
      )
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(attack, attack, attack, attack, async (subject, name, value, filename) => {
        const parts = {
          subject,
          from: { email: 'shop@mail.example', name },
          cc: [{ email: 'c@b.example', name }],
          replyTo: [{ email: 'r@b.example', name }],
          headers: { 'X-Any': value },
        };
        const named = ['From', 'To', 'Cc', 'Reply-To', ...NAMES.slice(2, 5), 'X-Any', ...NAMES.slice(5)];
        const email = await compose(parts);
        expect(headerNames(email)).toEqual([...named, 'Content-Transfer-Encoding']);
        expect(email.to).toHaveLength(1);
        expect(email.cc).toEqual([expect.objectContaining({ address: 'c@b.example' })]);
        const contentType = `image/png${value}`;
        const attachment = { filename, contentType, contentId: value, content: PIXEL };
        const mixed = await compose({ ...parts, attachments: [attachment] });
        expect(headerNames(mixed)).toEqual(named);
        expect(mixed.attachments).toHaveLength(1);
      }),
      { numRuns: 300 },
    );
  });

  it('never shows a blind recipient', async () => {
    const sneaky = { ...message(), bcc: [{ email: 'eve@evil.example' }] } as CompleteMessage;
    expect((await composeMessage(sneaky)).toString()).not.toMatch(/bcc|eve@/i);
  });

  it('folds long lists and long subjects', async () => {
    const to = Array.from({ length: 50 }, (_, index) => ({
      email: `someone.${index}@department.b.example`,
      name: `Dr. Someone, ${index}`,
    }));
    const bytes = await composeMessage(message({ to, subject: 'word '.repeat(190) + 'x'.repeat(40) }));
    for (const line of bytes.toString().split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    expect((await PostalMime.parse(bytes)).to).toEqual(to.map(({ email, name }) => ({ address: email, name })));
    const unbroken = { subject: 'x'.repeat(998) };
    expect((await compose(unbroken)).subject).toBe(unbroken.subject);
  });

  it('adds the headers of customer and engine, in that order', async () => {
    const headers = {
      References: `<${'r'.repeat(60)}@b.example> <${'s'.repeat(60)}@b.example>`,
      'X-Name': 'Jörg',
      'X-Empty': '',
    };
    const link = `<https://mail.example/${'u'.repeat(400)}>`;
    const bytes = await composeMessage(message({ headers }), [
      ['List-Unsubscribe', link],
      ['Feedback-ID', 'a:b:c'],
    ]);
    expectSound(bytes);
    const email = await PostalMime.parse(bytes);
    const custom = email.headers.slice(5, -3).map((header) => [header.originalKey, header.value]);
    expect(custom).toEqual([
      ['References', headers.References],
      ['X-Name', '=?utf-8?B?SsO2cmc=?='],
      ['X-Empty', ''],
      ['List-Unsubscribe', link],
      ['Feedback-ID', 'a:b:c'],
    ]);
    await expect(composeMessage(message({ headers: { 'X-A: b\r\nBcc': 'c' } }))).rejects.toThrow(
      'Not a header field name',
    );
  });

  it('keeps a local part beyond ASCII as UTF-8, and nothing else', async () => {
    const parts = { to: [{ email: 'jörg@b.example', name: 'Jörg' }] };
    const bytes = await composeMessage(message(parts));
    expect(bytes.toString()).toContain('\r\nTo: =?utf-8?B?SsO2cmc=?= <jörg@b.example>\r\n');
    expect((await PostalMime.parse(bytes)).to).toEqual([{ address: 'jörg@b.example', name: 'Jörg' }]);
    expect(headerNeedsSmtpUtf8(message(parts))).toBe(true);
    expect(headerNeedsSmtpUtf8(message())).toBe(false);
  });
});

describe('composeMessage with attachments', () => {
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
