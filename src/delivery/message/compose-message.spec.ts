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
import type { CompleteMessage } from '../ports/sources';
import { composeMessage } from './compose-message';
import { headerNeedsSmtpUtf8 } from './header-field';

const NAMES = ['From', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type'];

function headerNames(email: Email): string[] {
  return email.headers.map((header) => header.originalKey);
}

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
