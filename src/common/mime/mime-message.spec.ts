import { leavesOf, readContentType, readHeader, readMessageHeader, splitMessage } from './mime-message';
import { decodeCharset, decodedBody, decodeField, textOf } from './part-text';

const partOf = (message: string) => leavesOf(splitMessage(Buffer.from(message, 'latin1'))!)[0]!;

describe('readHeader', () => {
  it('unfolds, ignores case and stops at the empty line', () => {
    const { fields, rest } = readHeader('Subject: one\r\n\ttwo\r\nX-A : 1\r\nno field\r\nx-a: 2\r\n\r\nbody: 1');
    expect(fields.first('subject')).toBe('one two');
    expect(fields.all('x-a')).toEqual(['1', '2']);
    expect(rest).toBe('body: 1');
    expect(fields.has('body')).toBe(false);
  });
});

describe('readMessageHeader', () => {
  it.each([
    ['Subject: one\r\n \r\n two\r\nTo: a\r\n\r\nbody', 'one two', 'a', 'body'],
    ['Subject: one\n\t \nTo: a\n\nbody: 1', 'one', 'a', 'body: 1'],
    // By a mailer that ends the header with white space.
    ['Subject: one\r\nTo: a\r\n \r\nHello you, read: this', 'one', 'a', 'Hello you, read: this'],
    ['Subject: one\r\n\r\nTo: a', 'one', undefined, 'To: a'],
  ])('of %j takes white space for a fold where the header goes on', (text, subject, to, rest) => {
    const header = readMessageHeader(text);
    expect([header.fields.first('subject'), header.fields.first('to'), header.rest]).toEqual([subject, to, rest]);
  });

  it('is no way to read what separates blocks of a delivery status', () => {
    expect(readHeader('Reporting-MTA: a\r\n \r\nAction: failed').rest).toBe('Action: failed');
  });
});

describe('readContentType', () => {
  it.each([
    ['multipart/report; report-type=delivery-status; boundary="a;b=\\"c"', 'multipart/report', 'a;b="c'],
    ['Multipart/Mixed;BOUNDARY=x;boundary=y', 'multipart/mixed', 'x'],
    ['multipart/mixed;\n boundary = z', 'multipart/mixed', 'z'],
    ['nonsense', 'text/plain', undefined],
    [undefined, 'text/plain', undefined],
  ])('reads %s', (field, type, boundary) => {
    const contentType = readContentType(field);
    expect([contentType.type, contentType.parameters.get('boundary')]).toEqual([type, boundary]);
  });
});

describe('splitMessage', () => {
  it('gives up where many lines begin like the delimiters of several multiparts', () => {
    const head = (boundary: string) => `Content-Type: multipart/mixed; boundary=${boundary}\n\n`;
    const message = (lines: number) => `${head('abcdefg')}--abcdefg\n${head('abcdefgh')}${'\n--abcdefX'.repeat(lines)}`;
    expect(splitMessage(Buffer.from(message(9_000)))).toBeDefined();
    expect(splitMessage(Buffer.from(message(11_000)))).toBeUndefined();
  });

  it('knows a delimiter only at the beginning of a line, whole, and forgives white space and a missing end', () => {
    const head = 'Content-Type: multipart/mixed; boundary=b\n\npreamble --b\n';
    const message = splitMessage(Buffer.from(`${head}--b  \n\none --b\n--bc\n--b\r\n\ntwo\n`));
    expect(message?.children.map((part) => part.body)).toEqual(['one --b\n--bc', 'two\n']);
  });

  it('finds a delimiter among lines that begin like it', () => {
    const boundary = `${'-'.repeat(20)}b`;
    const like = `--${'-'.repeat(20)}\n`;
    const head = `Content-Type: multipart/mixed; boundary=${boundary}\n\n`;
    const message = splitMessage(Buffer.from(`${head}${like}--${boundary}\n\none\n${like}--${boundary}--\n`));
    expect(message?.children.map((part) => part.body)).toEqual([`one\n${like.trimEnd()}`]);
  });

  it('reads nothing behind the closing delimiter', () => {
    const message = splitMessage(
      Buffer.from('Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b--\n--b\n\ntwo\n'),
    );
    expect(message?.children).toHaveLength(1);
  });
});

describe('the text of a part', () => {
  it.each([
    ['quoted-printable', 'a=3Db=\r\nc=zz=', 'a=bc=zz='],
    ['base64', Buffer.from('hello').toString('base64'), 'hello'],
    ['8bit', 'as it is', 'as it is'],
  ])('undoes %s', (encoding, body, text) => {
    expect(decodedBody(partOf(`Content-Transfer-Encoding: ${encoding}\n\n${body}`))).toBe(text);
  });

  it.each([
    ['\xe9', 'iso-8859-1', 'é'],
    ['\xc3\xa9', undefined, 'é'],
    ['\xe9', undefined, 'é'],
    ['\xc3\xa9', 'no-such-charset', 'é'],
    ['\xc1', 'koi8-r', 'а'],
  ])('reads %j as %s', (bytes, charset, text) => {
    expect(decodeCharset(bytes, charset)).toBe(text);
  });

  it.each([
    ['=?utf-8?q?caf=C3=A9_au?= =?utf-8?B?IGxhaXQ=?=', 'café au lait'],
    ['plain =?utf-8?x?no?=', 'plain =?utf-8?x?no?='],
    // Characters that are split between words, as many senders do.
    ['a =?utf-8?Q?b=F0=9F=98?=\r\n =?UTF-8?Q?=80c?= d', 'a b😀c d'],
    ['=?utf-8?B?8J+Y?= =?utf-8?q?=80?= =?iso-8859-1?q?=E9?= =?utf-8?B?w6k=?=', '😀éé'],
  ])('reads the field %s', (field, text) => {
    expect(decodeField(field)).toBe(text);
  });

  it('takes the words of HTML', () => {
    const html = 'Content-Type: text/html\n\n<p>one<br>two &amp; <b>three</b></p>4 < 5';
    expect(textOf(partOf(html)).trim().split(/\s+/)).toEqual(['one', 'two', '&', 'three', '4', '<', '5']);
  });
});
