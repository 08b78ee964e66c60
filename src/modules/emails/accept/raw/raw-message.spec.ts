import PostalMime from 'postal-mime';
import fc from 'fast-check';
import { isFault, type RawMessage, readRawMessage } from './raw-message';

const read = (text: string) => readRawMessage(Buffer.from(text, 'latin1'));

function message(text: string): RawMessage {
  const found = read(text);
  if (isFault(found)) throw new Error(found.message);
  return found;
}

describe('readRawMessage', () => {
  it('removes what must not go out, and nothing else', () => {
    const { bytes, own } = message(
      'Return-Path: <x@y.example>\r\nX-Waybill-Tags: one,\r\n two\r\nFROM: a@b.example\r\nBcc: secret@c.example,\r\n' +
        ' other@c.example\r\nSubject: a\r\n  b\r\nbcc:\r\nx-waybill-metadata: {"a": 1}\r\nX-Other: 1\r\n\r\nBcc: body\r\n',
    );
    expect(bytes.toString()).toBe('FROM: a@b.example\r\nSubject: a\r\n  b\r\nX-Other: 1\r\n\r\nBcc: body\r\n');
    expect([...own]).toEqual([
      ['tags', ['one, two']],
      ['metadata', ['{"a": 1}']],
    ]);
  });

  it('removes the blind recipients of a message that is sent on', () => {
    const { bytes } = message('From: a@b.example\r\nResent-To: c@d.example\r\nResent-BCC: secret@c.example\r\n\r\nhi');
    expect(bytes.toString()).toBe('From: a@b.example\r\nResent-To: c@d.example\r\n\r\nhi');
  });

  it('removes a Date and a Message-ID without a value, so that they are added', () => {
    const { bytes } = message('Date: \r\nFrom: a@b.example\r\nMESSAGE-ID:\r\n\t\r\nSubject:\r\n\r\nDate:\r\n');
    expect(bytes.toString()).toBe('From: a@b.example\r\nSubject:\r\n\r\nDate:\r\n');
    const twice = 'From: a@b.example\r\nDate:\r\nDate: x\r\n\r\nhi';
    expect(message(twice).bytes.toString()).toBe(twice);
  });

  it.each([',', ';', ':'])('reads a thousand addresses of a list at most, of those that end with %s', (sign) => {
    const parse = jest.spyOn(PostalMime, 'addressParser').mockClear();
    message(`From: a@b.example\r\nTo: ${`a@b${sign}`.repeat(5_000)}\r\nCc: c@d.example\r\n\r\nhi`);
    expect((parse.mock.calls[0]?.[0].split(sign).length ?? 0) - 1).toBe(1_000);
  });

  it('keeps every other byte where it was', () => {
    const kept = fc.constantFrom(
      'To: x@y.example\r\n',
      'X-A: 1\r\n\tmore\r\n',
      'Received: a\r\n',
      'MIME-Version: 1.0\r\n',
    );
    const removed = fc.constantFrom(
      'Bcc: s@t.example\r\n',
      'Return-Path: <>\r\n',
      'X-Waybill-Foo: 1\r\n 2\r\n',
      'BCC:\r\n',
    );
    const fields = fc.array(
      fc.oneof(
        kept.map((text) => [text, true] as const),
        removed.map((text) => [text, false] as const),
      ),
    );
    fc.assert(
      fc.property(fields, fc.string({ unit: fc.constantFrom('a', '\r\n', 'Bcc: x', '\xff') }), (header, body) => {
        const from = 'From: a@b.example\r\n';
        const whole = header.map(([text]) => text).join('');
        const left = header.flatMap(([text, stays]) => (stays ? [text] : [])).join('');
        const { bytes } = message(`${from}${whole}\r\n${body}`);
        expect(bytes.toString('latin1')).toBe(`${from}${left}\r\n${body}`);
      }),
    );
  });

  it.each([
    ['Sender: office@B.example\r\n', true],
    ['Sender: The Office <office@b.example>\r\n', true],
    ['Sender: boss@bank.example\r\n', false],
    ['Sender: office@sub.b.example\r\n', false],
    ['Sender: office@b.example, boss@bank.example\r\n', false],
    ['Sender: office@b.example\r\nsender: boss@bank.example\r\n', false],
    ['Sender: www-data@localhost\r\n', false],
  ])('keeps %j only where it is one mailbox of the domain of From', (sender, stays) => {
    const { bytes } = message(`From: a@b.example\r\n${sender}Subject: x\r\n\r\nhi`);
    expect(bytes.toString()).toBe(`From: a@b.example\r\n${stays ? sender : ''}Subject: x\r\n\r\nhi`);
  });

  it('does not copy a large message', () => {
    const given = Buffer.from(`Bcc: s@t.example\r\nFrom: a@b.example\r\n\r\n${'x'.repeat(100_000)}`);
    const found = readRawMessage(given) as RawMessage;
    expect(found.bytes.buffer).toBe(given.buffer);
  });

  it('shows what the header says', () => {
    const found = message(
      'From: =?utf-8?Q?J=C3=B6rg?= <Jorg@B.example>\r\nTo: "Doe, Ann" <Ann@x.example>, grp: b@x.example;\r\n' +
        'Cc: c@x.example\r\nReply-To: Desk <d@x.example>\r\nSubject: =?iso-8859-1?q?B=FCcher?=\r\n\r\nhi',
    );
    expect(found).toMatchObject({ from: { email: 'Jorg@b.example', name: 'Jörg' }, subject: 'Bücher' });
    expect([...found.to]).toEqual(['ann@x.example', 'b@x.example']);
    expect([...found.cc]).toEqual(['c@x.example']);
    expect(found.replyTo).toEqual([{ email: 'd@x.example', name: 'Desk' }]);
  });

  it.each([
    ['a@b.example', 'a@b.example'],
    ['<a@b.example>', 'a@b.example'],
    ['a@b.example (Cron (daily) "Daemon")', 'a@b.example'],
    ['(Office) Ann (away)\r\n <a@b.example>', 'a@b.example'],
    ['"Doe (\\"x\\"), Ann" <a@b.example>', 'a@b.example'],
    ['Ann =?utf-8?q?a=40evil.example?= <a@b.example>', 'a@b.example'],
  ])('takes the sender %s', (value, email) => {
    expect(message(`From: ${value}\r\n\r\n`).from.email).toBe(email);
  });

  it.each([
    'From: a@b.example, c@d.example\r\n',
    'From: a@b.example\r\nFrom: a@b.example\r\n',
    'From: a@b.example\r\nfrom: c@d.example\r\n',
    'From: Ann\r\n',
    'From: <a@b.example> <c@d.example>\r\n',
    'From: grp: a@b.example;\r\n',
    'From: (a@b.example\r\n',
    // Of these, other programs show c@d.example.
    'From: ("a) <c@d.example> (b") <a@b.example>\r\n',
    'From: (a "b) c@d.example (c" d) a@b.example\r\n',
    'From: (a\\)<c@d.example>\\() a@b.example\r\n',
    'From: ((x)c@d.example,) a@b.example\r\n',
    'From: c@d.example(x).b.example\r\n',
    'From: c@d.example(x)b.example\r\n',
    'From: =?utf-8?q?c=40d.example=00?=@b.example\r\n',
    'From: "a@b.example" c@d.example>\r\n',
    'From:\r\n',
    'Sender: a@b.example\r\n',
    `From: ${'('.repeat(40_000)}a@b.example\r\n`,
  ])('refuses the sender of %s', (header) => {
    expect(read(`${header}Subject: x\r\n\r\nhi`)).toMatchObject({ fault: 'sender' });
  });

  it.each([
    ['a name with a blank', 'From: a@b.example\r\nFrom : c@d.example\r\n\r\nhi'],
    ['no colon', 'From: a@b.example\r\nnonsense\r\n\r\nhi'],
    ['a continuation first', ' From: c@d.example\r\nFrom: a@b.example\r\n\r\nhi'],
    ['NUL in its header', 'From: a@b.example\r\nSubject: a\0b\r\n\r\nhi'],
    ['NUL in its body', 'From: a@b.example\r\n\r\nhi\0'],
    ['a circle', `From: a@b.example\r\n${'Received: x\r\n'.repeat(101)}\r\nhi`],
    ['more than 2,000 fields', `From: a@b.example\r\n${'a:\r\n'.repeat(2_000)}\r\nhi`],
    ['no end of its header', `From: a@b.example\r\nX: ${'x'.repeat(300_000)}`],
    ['nothing', ''],
  ])('refuses a message with %s', (_what, text) => {
    expect(read(text)).toHaveProperty('fault');
  });

  it('takes a header alone, and a short one', () => {
    expect(message('From: a@b.example\r\nSubject: only').bytes.toString()).toBe(
      'From: a@b.example\r\nSubject: only\r\n\r\n',
    );
    expect(message('From: a@b.example\r\n').bytes.toString()).toBe('From: a@b.example\r\n\r\n');
  });
});
