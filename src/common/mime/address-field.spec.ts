import fc from 'fast-check';
import { addressPartOf, decodeAddressField, mailboxesIn } from './address-field';

const word = (text: string): string => `=?utf-8?b?${Buffer.from(text).toString('base64')}?=`;

describe('decodeAddressField', () => {
  it.each([
    ['a name', `${word('Adá')} <a@b.example>`, 'Adá <a@b.example>'],
    ['a name with a comma', `${word('Müller, Jörg')} <a@b.example>`, '"Müller, Jörg" <a@b.example>'],
    ['an address', `${word('boss@bank.example')} <a@b.example>`, '"boss@bank.example" <a@b.example>'],
    [
      'a name, brackets and a comma',
      `${word('Boss <boss@bank.example>,')} <a@b.example>`,
      '"Boss <boss@bank.example>," <a@b.example>',
    ],
    ['quotes', `${word('"x" <boss@bank.example>')} <a@b.example>`, '"\\"x\\" <boss@bank.example>" <a@b.example>'],
    [
      'a word within quotes',
      `"${word('x" <boss@bank.example> "')}" <a@b.example>`,
      '"x\\" <boss@bank.example> \\"" <a@b.example>',
    ],
    [
      'a word within a comment',
      `a@b.example (${word('x) <boss@bank.example> (')})`,
      'a@b.example (x\\) <boss@bank.example> \\()',
    ],
    ['a word within brackets', `<${word('boss@bank.example')}>`, `<${word('boss@bank.example')}>`],
    ['two words', `${word('Ad')} ${word('á')} <a@b.example>`, 'Adá <a@b.example>'],
    [
      'a quote without an end',
      `" ${word('Boss <boss@bank.example>')} <a@b.example>`,
      `" ${word('Boss <boss@bank.example>')} <a@b.example>`,
    ],
  ])('shows %s', (_what, value, shown) => {
    expect(decodeAddressField(value)).toBe(shown);
  });

  it('adds no address and no mailbox, whatever the words hold', () => {
    const hostile = fc.stringMatching(/^[a-z@<>,;:"()[\]\\. ]{0,40}$/);
    const piece = fc.oneof(
      hostile.map(word),
      fc.constantFrom('"x, y"', '(c)', 'Ada', ' ', '<a@b.example>', ', ', '"', '(', '<'),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const value = pieces.join(' ');
        const shown = mailboxesIn(decodeAddressField(value));
        expect(shown).toHaveLength(mailboxesIn(value).length);
        const inBrackets = (mailboxes: string[]) =>
          mailboxes.map((mailbox) => (mailbox.includes('<') ? addressPartOf(mailbox) : ''));
        const original = inBrackets(mailboxesIn(value));
        inBrackets(shown).forEach((address, index) => {
          if (address.includes('@')) expect(original[index]).toContain(address.trim());
        });
      }),
      { numRuns: 500 },
    );
  });
});

describe('addressPartOf', () => {
  it.each([
    ['a@b.example', 'a@b.example'],
    ['"boss@bank.example" <a@b.example>', 'a@b.example'],
    ['boss@bank.example <a@b.example>', 'a@b.example'],
    ['(boss@bank.example) a@b.example', '  a@b.example'],
    ['"a b"@b.example', '"a b"@b.example'],
  ])('of %s', (mailbox, part) => {
    expect(addressPartOf(mailbox)).toBe(part);
  });
});

describe('a field of signs that open and do not close', () => {
  // Two seconds a field when each was looked for to the end.
  it.each(['"\\', '(\\', '"a\\"', '((x)', '<', '['])('is read in one pass: %s', (unit) => {
    const field = unit.repeat(200_000 / unit.length);
    for (let count = 0; count < 20; count += 1) mailboxesIn(field);
    expect(decodeAddressField(field)).toBe(field);
    expect(addressPartOf(field).length).toBeGreaterThan(0);
  });

  it('still has its mailboxes where some do not close', () => {
    expect(mailboxesIn(`${'( '.repeat(19)}, "Doe, Ann" <a@b.example>`)).toHaveLength(2);
  });
});
