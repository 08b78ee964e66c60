import { readSenderPath } from './sender-path';

describe('readSenderPath', () => {
  it.each([
    ['a quoted local part', '"a b"@b.example'],
    ['an at sign, a colon and brackets in it', '"<a@c:d>\\""@b.example'],
    ['dots that stand together', 'a..b.@b.example'],
    ['a host name with an underscore', 'www-data@my_app_1'],
    ['no host', 'root'],
  ])('reads %s', (_what, path) => {
    expect(readSenderPath(`MAIL FROM:<${path}>`)).toEqual({ address: path, parameters: '' });
    expect(readSenderPath(`mail from: <@relay.example,@x.example:${path}> SIZE=9`)).toEqual({
      ...{ address: path, parameters: ' SIZE=9' },
    });
  });

  it.each([
    ...[
      'MAIL FROM:a@b_c',
      'MAIL FROM:<a b@c>',
      'MAIL FROM:<a@b@c>',
      'MAIL FROM:<"a@b>',
      'MAIL FROM:<"a"b@c>',
      'MAIL FROM:<@c>',
    ],
    ...[
      'MAIL FROM:<a@>',
      'MAIL FROM:<<a@b_c>>',
      'MAIL FROM:<a@b_c>SIZE=9',
      'MAIL FROM:<a\0@b_c>',
      'MAIL FROM:<"\r\n"@b>',
    ],
    ...['RCPT TO:<a@b_c>', `MAIL FROM:<${'a'.repeat(250)}@b_c.example>`, 'MAIL FROM:<a\u200b@b_c>', 'MAIL FROM:< >'],
  ])('finds none in %j', (command) => {
    expect(readSenderPath(command)).toBeUndefined();
  });
});
