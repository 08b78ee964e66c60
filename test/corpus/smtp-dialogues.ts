import fc from 'fast-check';

const ENDS = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '', '\0\r\n'];
const COMMANDS = [
  ...['EHLO c.example', 'HELO c', 'EHLO [127.0.0.1]', 'EHLO', 'NOOP', 'RSET', 'VRFY root', 'HELP', 'QUIT', 'EXPN x'],
  ...['MAIL FROM:<>', 'MAIL FROM:<a@b.example> SIZE=99999999999999', 'MAIL FROM:<a@b.example> BODY=8BITMIME SMTPUTF8'],
  ...['MAIL FROM:<<<>>>', 'MAIL', 'RCPT', 'RCPT TO:<postmaster@mail.example.org>', 'RCPT TO:<@a,@b:c@d.example>'],
  ...[
    'RCPT TO:<b@x.example> NOTIFY=NEVER',
    'DATA',
    'DATA x',
    '.',
    '..',
    'Subject: x',
    '',
    ' ',
    'BDAT 5',
    'BDAT 3 LAST',
  ],
  ...[
    'BDAT -1',
    'AUTH PLAIN',
    'AUTH PLAIN AAAA',
    'AUTH LOGIN',
    '*',
    '=',
    'AUTH CRAM-MD5',
    'STARTTLS',
    'XCLIENT ADDR=::1',
  ],
  ...[
    '\xff\xfe',
    '\x16\x03\x01\x02\x00\x01',
    'GET / HTTP/1.1',
    'x'.repeat(3_000),
    `RCPT TO:<${'a'.repeat(2_000)}@x.example>`,
  ],
  ...[`MAIL FROM:<> ${'X=y '.repeat(400)}`, 'mail from:<>', 'Rcpt To:<POSTMASTER@mail.example.org>'],
];
const line = fc.tuple(fc.constantFrom(...COMMANDS), fc.constantFrom(...ENDS)).map((parts) => parts.join(''));

/** What an SMTP client says, cut into the pieces of its packets, at any byte. It heeds no reply. */
export const clientDialogues = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 25 }), fc.array(fc.nat(9_999), { maxLength: 8 }))
  .map(([lines, cuts]) => cutAt(lines.join(''), cuts));

/** Commands that end nothing and leave no reply open. */
const HARMLESS = COMMANDS.filter(
  (command) => !/^(DATA|BDAT|AUTH|STARTTLS|QUIT|GET|\.|x{9}|$)|[\xff\x16\0]/.test(command),
);
const FRAGMENTS = [
  ...['\r\n.\n', '\n.\r\n', '\n.\n', '\r.\r', '\n.\r', '\r\n.\r', '\r\n..\r\n', '\r\n.\0\r\n', '\0', '.', '\r', '\n'],
  ...[
    '\r\nMAIL FROM:<>\r\n',
    'RCPT TO:<postmaster@mail.example.org>\r\n',
    'DATA\r\n',
    'smuggled',
    'RSET\r\n',
    'QUIT\r\n',
  ],
];

/** A client that waits for each reply, and whose message looks as if it ended before it does. */
export interface SmugglingDialogue {
  readonly commands: readonly string[];
  /** In pieces, with its end. */
  readonly message: readonly string[];
}

export const smugglingDialogues: fc.Arbitrary<SmugglingDialogue> = fc
  .tuple(
    fc.array(fc.constantFrom(...HARMLESS), { maxLength: 5 }),
    fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 12 }),
    fc.array(fc.nat(9_999), { maxLength: 6 }),
  )
  .map(([commands, fragments, cuts]) => {
    // CRLF, dot, CRLF is the one true end (RFC 5321 section 4.1.1.4): fragments that happen to make one are parted.
    const body = `${fragments.join('')}x`.replace(/\r\n\.(?=\r\n)/g, '\r\n.x');
    return { commands, message: cutAt(`Subject: s\r\n\r\nx${body}\r\n.\r\n`, cuts) };
  });

/** What a hostile server does when it is to reply: to the connection, EHLO, STARTTLS, MAIL, RCPT, DATA, and the end of the message. */
export interface ServerTurn {
  /** Each written for itself; bytes of the usual reply stand at `\OK`. */
  readonly pieces: readonly string[];
  readonly closes: boolean;
}

const wholeReply = fc
  .tuple(
    fc.constantFrom(...'2 2 2 3 4 5 1 6 0 9'.split(' ')),
    fc.nat(99),
    fc.constantFrom(' ok', '', '-', ' 2.0.0 \xff\0', ' 5.7.1 no'),
  )
  .map(([first, rest, text]) => `${first}${String(rest).padStart(2, '0')}${text}\r\n`);
const USUAL = fc.constant('\\OK');
const reply = fc.oneof(
  { weight: 12, arbitrary: USUAL },
  { weight: 3, arbitrary: wholeReply },
  {
    weight: 2,
    arbitrary: fc.constantFrom('421 4.3.2 bye\r\n', '250 ok\r\n', '354 go\r\n', '220 go\r\n', '550 5.1.1 no\r\n'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '250-a\r\n550 b\r\n',
      '250-a\r\n',
      '2',
      '25',
      '250',
      '250 no end',
      '\r\n',
      '\0',
      '250-x\n250 y\n',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('250-and so on\r\n'.repeat(300), 'x'.repeat(5_000), `250 ${'x'.repeat(3_000)}\r\n`),
  },
  { weight: 1, arbitrary: fc.tuple(USUAL, wholeReply).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.tuple(wholeReply, USUAL).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.constant('') },
);
const turn: fc.Arbitrary<ServerTurn> = fc
  .tuple(
    reply,
    fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(fc.nat(9_999), { maxLength: 5 })),
    fc.nat(19),
  )
  .map(([text, cuts, chance]) => ({ pieces: cutAt(text, cuts), closes: chance === 0 }));
const EXTENSIONS = [
  'PIPELINING',
  'SIZE 1000000',
  'SIZE 1',
  'SIZE x',
  '8BITMIME',
  'SMTPUTF8',
  'DSN',
  'STARTTLS',
  'CHUNKING',
  'AUTH PLAIN',
];

export interface ServerDialogue {
  /** `\\MANY` stands for two thousand. */
  readonly offers: readonly string[];
  /** One after the other; the usual replies follow. */
  readonly turns: readonly ServerTurn[];
  /** In plaintext behind the reply to STARTTLS, in the same packet. */
  readonly injected: string;
}

export const serverDialogues: fc.Arbitrary<ServerDialogue> = fc.record({
  offers: fc.oneof(
    { weight: 9, arbitrary: fc.subarray(EXTENSIONS) },
    { weight: 1, arbitrary: fc.constant(['\\MANY']) },
  ),
  turns: fc.array(turn, { maxLength: 8 }),
  injected: fc.constantFrom('', '', '', '250 injected\r\n', '250-in\r\n250 STARTTLS\r\n', '\x16\x03'),
});

/** @param cuts places, in ten thousandths */
function cutAt(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => Math.floor((cut * text.length) / 10_000)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => text.slice(from, places[index])).filter((piece) => piece !== '');
}
