import { extensionsNeededBy } from './raw-message';

const rawNeedsSmtpUtf8 = (message: Buffer): boolean => extensionsNeededBy(message).smtpUtf8;

describe('the extensions that a raw message needs', () => {
  it.each([
    ['Subject: Hello\r\n\r\nHello', { smtpUtf8: false, eightBit: false }],
    ['Subject: Hello\r\n\r\nGrüße an jörg@b.example', { smtpUtf8: false, eightBit: true }],
    ['Subject: Grüße\r\nTo: a@b.example\r\n\r\nHello', { smtpUtf8: false, eightBit: true }],
    ['To: jörg@b.example\r\n\r\nHello', { smtpUtf8: true, eightBit: true }],
  ])('of %j', (message, needed) => expect(extensionsNeededBy(Buffer.from(message))).toEqual(needed));

  const needs = (to: string) =>
    rawNeedsSmtpUtf8(Buffer.from(`From: Jörg <a@b.example>\r\nTo: ${to}\r\nX: ü@b.example\r\n\r\nTo: ü@b.example`));

  it.each(['"jörg"@b.example', '"jörg m"@b.example', 'a@b.example, J <"jörg \\"m"@b.example>', '"a b"@bücher.example'])(
    'finds a quoted local part that needs it in %j',
    (to) => expect(needs(to)).toBe(true),
  );

  it('reads the addresses of a message that was sent on', () => {
    expect(rawNeedsSmtpUtf8(Buffer.from('From: a@b.example\r\nResent-To: jörg@b.example\r\n\r\nhi'))).toBe(true);
  });

  it.each(['jörg@b.example', 'a@b.example,\r\n Jörg <jörg@b.example>', '"a" <ü@b.example> (ü)', 'a@bücher.example'])(
    'finds an address that needs it in %j',
    (to) => expect(needs(to)).toBe(true),
  );

  it.each([
    ...['Übung <u@b.example>', '"jörg@home.example" <a@b.example>', 'jörg@home.example <a@b.example>'],
    ...['"jörg" <"a b"@b.example>', '"jörg" @b <a@b.example>', '@jörg <a@b.example>'],
    ...['"a \\"ü@x\\"" <a@b.example>', 'a@b.example (jörg@home.example)', 'jörg@home.example\r\n\t<a@b.example>'],
  ])('takes no name for an address: %j', (to) => expect(needs(to)).toBe(false));

  it('reads fields of any sender in time that grows with their length', () => {
    // Where each @ was sought from every place of its word, this would take half an hour.
    const hostile = ['a@', '"\\', '(a', 'a', '"@', '<"@', '"a"@', '<"']
      .map((part) => `To: ü ${part.repeat(14_000)}\r\n`.repeat(10))
      .join('');
    expect(rawNeedsSmtpUtf8(Buffer.from(`From: Jörg <a@b.example>\r\n${hostile}\r\nHello`))).toBe(false);
    const utf8 = `To: ${'a@'.repeat(14_000)}ü\r\n`.repeat(10);
    expect(rawNeedsSmtpUtf8(Buffer.from(`From: Jörg <a@b.example>\r\n${utf8}\r\nHello`))).toBe(true);
  });
});
