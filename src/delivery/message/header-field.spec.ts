import fc from 'fast-check';
import { addressField, customField, encodeWords, unstructuredField } from './header-field';
import { anyCharacter } from '../../../test/factories/any-character';

/** RFC 2047 section 2 as a reader applies it; every word must decode on its own. */
function decodeWord(word: string): string {
  const [, encoding, content] = /^=\?utf-8\?([BQ])\?([!-<>@-~=]*)\?=$/.exec(word) ?? [];
  if (content === undefined) throw new Error(`Not an encoded-word: ${word}`);
  if (encoding === 'B') return Buffer.from(content, 'base64').toString();
  const hex = content
    .replaceAll('_', ' ')
    .replace(/[^=]|=(..)/g, (all: string, digits?: string) => digits ?? Buffer.from(all).toString('hex'));
  return Buffer.from(hex, 'hex').toString();
}

describe('encodeWords', () => {
  it('gives whole characters in words of at most 75', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter, minLength: 1, maxLength: 200 }),
        fc.integer({ min: 30, max: 75 }),
        (text, room) => {
          const words = encodeWords(text, room);
          expect(words[0]!.length).toBeLessThanOrEqual(room);
          for (const word of words) expect(word.length).toBeLessThanOrEqual(75);
          expect(words.map(decodeWord).join('')).toBe(text);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('chooses the shorter of Q and B', () => {
    expect(encodeWords('Your café in the old town', 75)).toEqual(['=?utf-8?Q?Your_caf=C3=A9_in_the_old_town?=']);
    expect(encodeWords('Здравствуйте', 75)).toEqual(['=?utf-8?B?0JfQtNGA0LDQstGB0YLQstGD0LnRgtC1?=']);
  });
});

describe('unstructuredField', () => {
  it.each([
    ['Hello there', 'Hello there'],
    ['two  spaces', 'two  spaces'],
    [' edges ', '=?utf-8?Q?_edges_?='],
    ['a\tb\r\nc', 'a b  c'],
    ['=?utf-8?Q?raw?=', '=?utf-8?B?PT91dGYtOD9RP3Jhdz89?='],
    ['\ud800', '=?utf-8?B?77+9?='],
  ])('writes %j', (value, expected) => {
    expect(unstructuredField('Subject', value)).toBe(`Subject: ${expected}\r\n`);
  });

  it('leaves nothing after the colon of an empty field', () => {
    expect(unstructuredField('Subject', '')).toBe('Subject:\r\n');
    expect(customField('X-Any', ' ')).toBe('X-Any:\r\n');
  });

  it('folds between words and never makes an empty line', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('word', ' ', '  ', 'x'.repeat(40), 'y'.repeat(80)), { maxLength: 60 }),
        (parts) => {
          const value = parts.join('').trim();
          const field = unstructuredField('Subject', value);
          for (const line of field.slice(0, -2).split('\r\n')) {
            expect(line.length).toBeLessThanOrEqual(76);
            expect(line).toMatch(/[^ ]/);
          }
          if (!field.includes('=?')) expect(field.slice(9, -2).replaceAll('\r\n', '')).toBe(value);
        },
      ),
    );
  });
});

describe('customField', () => {
  it.each([
    ['<https://b.example/u?=?x>', '<https://b.example/u?=?x>'],
    [`${'a'.repeat(60)} ${'b'.repeat(60)}`, `${'a'.repeat(60)}\r\n ${'b'.repeat(60)}`],
    ['x'.repeat(900), 'x'.repeat(900)],
    ['a\r\nBcc: b@b.example', 'a  Bcc: b@b.example'],
    ['\0\x1b[0m', '[0m'],
  ])('passes %j', (value, expected) => {
    expect(customField('X-Any', value)).toBe(`X-Any: ${expected}\r\n`);
  });

  it('encodes only what no line can hold', () => {
    expect(customField('X-Any', 'x'.repeat(2_000)).split('\r\n')[0]!.length).toBeLessThanOrEqual(76);
    expect(customField('X-Any', 'ü')).toBe('X-Any: =?utf-8?B?w7w=?=\r\n');
    expect(customField(`X-${'n'.repeat(60)}`, 'ü')).toBe(`X-${'n'.repeat(60)}:\r\n =?utf-8?B?w7w=?=\r\n`);
  });

  it.each(['', 'A B', 'A:', 'A\r\nB', 'Ü', 'x'.repeat(256)])('refuses the name %j', (name) => {
    expect(() => customField(name, 'x')).toThrow('Not a header field name');
  });
});

describe('addressField', () => {
  it.each([
    [undefined, 'a@b.example'],
    ['', 'a@b.example'],
    ['Ann Lee', 'Ann Lee <a@b.example>'],
    ['Lee, Ann', '"Lee, Ann" <a@b.example>'],
    ['Ann "A" \\ Lee', '"Ann \\"A\\" \\\\ Lee" <a@b.example>'],
    ['a@b.example', '"a@b.example" <a@b.example>'],
    ['=?utf-8?Q?x?=', '=?utf-8?B?PT91dGYtOD9RP3g/PQ==?= <a@b.example>'],
    ['Ann\r\nBcc: b@b.example', '"Ann  Bcc: b@b.example" <a@b.example>'],
    ['Jörg', '=?utf-8?B?SsO2cmc=?= <a@b.example>'],
  ])('names %j', (name, expected) => {
    expect(addressField('To', [{ email: 'a@b.example', name }])).toBe(`To: ${expected}\r\n`);
  });

  it('folds after commas', () => {
    const mailbox = { email: `${'a'.repeat(30)}@b.example` };
    expect(addressField('To', [mailbox, mailbox])).toBe(`To: ${mailbox.email},\r\n ${mailbox.email}\r\n`);
  });
});
