import fc from 'fast-check';
import { fromAddressOf, indexedAddresses, ofAuthor, readFields, showHeader } from './read-envelope';

const messageOf = (...lines: string[]) => Buffer.from(`${lines.join('\r\n')}\r\n\r\nTo: body@example.com`);
const PASS = { result: 'pass', domain: 'b.example' };
const fieldsOf = (...lines: string[]) => readFields(messageOf(...lines));

describe('showHeader', () => {
  it('reads what lists show', async () => {
    const message = messageOf(
      'From: =?utf-8?q?Ad=C3=A1?= <Ada@Example.com>',
      'To: "Lovelace, A." <a@example.com>, b@example.com',
      'Cc: c@example.com',
      'Subject: =?utf-8?b?w6k=?=',
      'Message-ID: <1@example.com>',
      'In-Reply-To: <0@example.com>',
      'References: <x@example.com>',
      ' <0@example.com>',
    );
    const fields = readFields(message);
    expect(showHeader(fields)).toEqual({
      from: 'Adá <Ada@Example.com>',
      to: ['"Lovelace, A." <a@example.com>', 'b@example.com'],
      cc: ['c@example.com'],
      subject: 'é',
      messageId: '<1@example.com>',
      inReplyTo: '<0@example.com>',
      references: ['<x@example.com>', '<0@example.com>'],
    });
    expect(fromAddressOf(fields)).toBe('ada@example.com');
    expect(await indexedAddresses(message, ['Bounce@Example.com', ''])).toEqual([
      ...['bounce@example.com', 'ada@example.com', 'a@example.com', 'b@example.com', 'c@example.com'],
    ]);
  });

  it.each([
    ['"Bo \\"B, Jr\\"" <b@example.com>, c@example.com', ['"Bo \\"B, Jr\\"" <b@example.com>', 'c@example.com']],
    [
      'b@example.com (one, (two), three; four), c@example.com',
      ['b@example.com (one, (two), three; four)', 'c@example.com'],
    ],
    ['undisclosed-recipients:;', []],
    [
      'Team: "A, B" <a@example.com>, b@example.com;, c@example.com',
      ['"A, B" <a@example.com>', 'b@example.com', 'c@example.com'],
    ],
    ['<a@[IPv6:2001:db8::1]>, "x: y" <b@example.com>', ['<a@[IPv6:2001:db8::1]>', '"x: y" <b@example.com>']],
    ['"no end, a@example.com', ['"no end', 'a@example.com']],
    ['(no end, a@example.com', ['(no end', 'a@example.com']],
  ])('finds the mailboxes of %s', (list, mailboxes) => {
    expect(showHeader(fieldsOf(`To: ${list}`)).to).toEqual(mailboxes);
  });

  it('takes no name for an address, however it is written', () => {
    const word = '=?utf-8?q?Boss_=3Cboss=40bank.example=3E=2C?=';
    const fields = fieldsOf(`From: ${word} <a@b.example>`, `To: ${word} <c@d.example>`);
    expect(showHeader(fields)).toMatchObject({
      from: '"Boss <boss@bank.example>," <a@b.example>',
      to: ['"Boss <boss@bank.example>," <c@d.example>'],
    });
    expect(fromAddressOf(fields)).toBe('a@b.example');
    expect(fromAddressOf(fieldsOf('From: "boss@bank.example" <a@b.example>'))).toBe('a@b.example');
    expect(fromAddressOf(fieldsOf('From: =?utf-8?q?boss=40bank.example?= <a@b.example>'))).toBe('a@b.example');
  });

  it.each([
    [['From: Ada <a@mail.b.example>'], true],
    [['From: A@B.EXAMPLE'], true],
    [['From: "x <c@d.example>" <a@b.example>'], true],
    // What the address reader refuses.
    [['From: a..b@b.example'], true],
    [['From: <a@b.example> <c@d.example>'], false],
    [['From: a@b.example, c@d.example'], false],
    [['From: a@b.example', 'From: c@d.example'], false],
    [['From: c@d.example'], false],
    [['From: a@not-b.example'], false],
    [[`From: c@d.example ${'x'.repeat(5_000)} <a@b.example>`], false],
    [[`From: (${'x'.repeat(1_500)} <c@d.example>) a@b.example`], false],
    [[''], false],
  ])('knows whether a result for b.example is about the author: %j', (lines, isAbout) => {
    expect(ofAuthor(fieldsOf(...lines), PASS).result).toBe(isAbout ? 'pass' : 'none');
  });

  it('knows an author whose domain is not ASCII', () => {
    const fields = fieldsOf('From: a@bücher.example');
    expect(ofAuthor(fields, { ...PASS, domain: 'xn--bcher-kva.example' }).result).toBe('pass');
    expect(ofAuthor(fields, { result: 'temperror' })).toEqual({ result: 'temperror' });
  });

  it('shows a message without a header as empty', () => {
    const empty = { from: '', to: [], cc: [], subject: '', messageId: null, references: [] };
    expect(showHeader(fieldsOf(''))).toEqual(empty);
  });

  it('makes JSON that the database takes, of any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const header = Buffer.concat([Buffer.from('Subject: '), bytes, Buffer.from('\r\nFrom: '), bytes]);
        const text = JSON.stringify(showHeader(readFields(header)));
        expect(text).not.toMatch(/\\u0000|\\ud[89a-f]/);
      }),
    );
  });
});
