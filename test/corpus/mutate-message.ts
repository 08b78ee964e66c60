import fc from 'fast-check';

/** One change to a message. Places are fractions of its length. */
type Mutation =
  | { readonly kind: 'overwrite'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly at: number }
  | { readonly kind: 'splice'; readonly at: number; readonly from: number }
  | { readonly kind: 'duplicate'; readonly at: number; readonly from: number }
  | { readonly kind: 'remove-line'; readonly at: number }
  | { readonly kind: 'repeat-line'; readonly at: number; readonly times: number }
  | { readonly kind: 'insert'; readonly at: number; readonly text: string }
  | { readonly kind: 'nest'; readonly depth: number };

const place = fc.nat(9999).map((value) => value / 10_000);
const MAIL_WORDS = [
  ...['\r\n', '\n', '\r', '\0', ' ', ':', ';', '"', '<', '=?utf-8?q?=', '=?utf-8?b?////?=', '--=_bound', '--=_bound--'],
  ...['\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n', '\r\nContent-Transfer-Encoding: base64\r\n'],
  ...[
    '\r\nAction: failed\r\nStatus: 5.1.1\r\n',
    '\r\nFeedback-Type: abuse\r\n',
    '550 5.1.1 user unknown',
    'charset=utf-7',
  ],
  ...['\ud83d\ude00'.repeat(300), 'x'.repeat(5000), '<'.repeat(2000), 'Received: x\r\n'.repeat(40)],
];

/** One to four changes of a mail. */
export const mutations = mutationsWith(MAIL_WORDS);

/** One to four changes. @param words that mean something to the reader under test */
export function mutationsWith(words: readonly string[]): fc.Arbitrary<Mutation[]> {
  return fc.array(change(words), { minLength: 1, maxLength: 4 });
}

function change(words: readonly string[]): fc.Arbitrary<Mutation> {
  return fc.oneof(
    fc.record({
      kind: fc.constant('overwrite' as const),
      at: place,
      bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
    }),
    fc.record({ kind: fc.constant('truncate' as const), at: place }),
    fc.record({ kind: fc.constant('splice' as const), at: place, from: place }),
    fc.record({ kind: fc.constant('duplicate' as const), at: place, from: place }),
    fc.record({ kind: fc.constant('remove-line' as const), at: place }),
    fc.record({ kind: fc.constant('repeat-line' as const), at: place, times: fc.nat(60) }),
    fc.record({ kind: fc.constant('insert' as const), at: place, text: fc.constantFrom(...words) }),
    fc.record({ kind: fc.constant('nest' as const), depth: fc.nat(12) }),
  );
}

/** @param other where a splice takes its end from */
export function mutate(message: Buffer, other: Buffer, changes: readonly Mutation[]): Buffer {
  return changes.reduce((bytes, change) => apply(bytes, other, change), message);
}

function apply(message: Buffer, other: Buffer, change: Mutation): Buffer {
  const at = 'at' in change ? Math.floor(change.at * message.length) : 0;
  const [before, after] = [message.subarray(0, at), message.subarray(at)];
  const nextLine = message.indexOf('\n', at) + 1 || message.length;
  switch (change.kind) {
    case 'overwrite':
      return Buffer.concat([before, change.bytes, after.subarray(change.bytes.length)]);
    case 'truncate':
      return before;
    case 'splice':
      return Buffer.concat([before, other.subarray(Math.floor(change.from * other.length))]);
    case 'duplicate':
      return Buffer.concat([before, message.subarray(Math.floor(change.from * message.length)), after]);
    case 'remove-line':
      return Buffer.concat([message.subarray(0, lineStart(message, at)), message.subarray(nextLine)]);
    case 'repeat-line': {
      const line = message.subarray(lineStart(message, at), nextLine);
      return Buffer.concat([before, ...Array<Buffer>(change.times).fill(line), after]);
    }
    case 'insert':
      return Buffer.concat([before, Buffer.from(change.text), after]);
    case 'nest':
      return Buffer.concat([Buffer.from(wrapping(change.depth)), message]);
  }
}

function lineStart(message: Buffer, at: number): number {
  return message.subarray(0, at).lastIndexOf('\n') + 1;
}

function wrapping(depth: number): string {
  return Array.from({ length: depth }, (_, level) => {
    return `Content-Type: multipart/mixed; boundary="level${level}"\r\n\r\n--level${level}\r\n`;
  }).join('');
}
