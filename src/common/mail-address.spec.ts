import fc from 'fast-check';
import { addressKeys } from './address-forms';
import { addressKey, domainOf, maskAddress, needsSmtpUtf8, parseAddress, parseMailbox } from './mail-address';
import { anyCharacter } from '../../test/factories/any-character';

const CONTROL = /[\p{Cc}\p{Cs}]/u;
const ANY_TEXT = fc.string({ unit: anyCharacter, maxLength: 60 });
/** Code units rather than code points, so that lone surrogates occur. */
const RAW_UNITS = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
  .map((units) => String.fromCharCode(...units));
const ADDRESS_LIKE = fc
  .array(
    fc.oneof(
      fc.constantFrom('@', '.', '<', '>', '"', '\\', ',', ' ', '\r\n', 'xn--', 'a', 'ü', 'K', '\u0338'),
      ANY_TEXT,
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));
const HOSTILE = fc.oneof(
  ANY_TEXT,
  RAW_UNITS,
  ADDRESS_LIKE,
  fc.tuple(ADDRESS_LIKE, ADDRESS_LIKE).map((pair) => pair.join('@')),
);

function parsed(input: unknown) {
  const result = parseMailbox(input);
  if (!result.ok) throw new Error(result.message);
  return result.mailbox;
}

describe('addressKeys', () => {
  it('are one, but for a small sigma, which has two forms', () => {
    expect(addressKeys('Ann@x.example')).toEqual(['ann@x.example']);
    const [always, dotted, words] = ['νικοσ.παππασ@x.example', 'νικοσ.παππας@x.example', 'νικος.παππας@x.example'];
    for (const each of [always, dotted, words, 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example']) {
      expect(addressKeys(each)).toEqual([words, dotted, always]);
      expect(addressKeys(each)).toContain(addressKey(each));
    }
  });
});

describe('parseMailbox', () => {
  it.each([
    ['a@b.example', 'a@b.example', undefined],
    ['A.b+c@Mail.EXAMPLE', 'A.b+c@mail.example', undefined],
    ['Ann Lee <ann@b.example>', 'ann@b.example', 'Ann Lee'],
    ['Dr. Ann<ann@b.example>', 'ann@b.example', 'Dr. Ann'],
    ['"Lee, Ann" <ann@b.example>', 'ann@b.example', 'Lee, Ann'],
    ['"say \\"hi\\" \\\\" <ann@b.example>', 'ann@b.example', 'say "hi" \\'],
    ['"a <x@y.example>" <ann@b.example>', 'ann@b.example', 'a <x@y.example>'],
    ['<ann@b.example>', 'ann@b.example', undefined],
    ['"" <ann@b.example>', 'ann@b.example', undefined],
    ['Jörg Ü <j@bücher.example>', 'j@xn--bcher-kva.example', 'Jörg Ü'],
    ['j@BÜCHER.example', 'j@xn--bcher-kva.example', undefined],
    ['j@XN--bcher-KVA.example', 'j@xn--bcher-kva.example', undefined],
    ['j@straße.example', 'j@xn--strae-oqa.example', undefined],
    ['jo\u0308rg@b.example', 'j\u00f6rg@b.example', undefined],
    ['用户@例子.广告', '用户@xn--fsqu00a.xn--4rr70v', undefined],
    [{ email: 'a@b.example' }, 'a@b.example', undefined],
    [{ email: 'a@b.example', name: ' Lee, Ann ' }, 'a@b.example', 'Lee, Ann'],
    [{ email: 'a@b.example', name: null }, 'a@b.example', undefined],
    [`${'a'.repeat(64)}@b.example`, `${'a'.repeat(64)}@b.example`, undefined],
    [`a@${'b'.repeat(63)}.example`, `a@${'b'.repeat(63)}.example`, undefined],
    ["!#$%&'*+-/=?^_`{|}~0@b.example", "!#$%&'*+-/=?^_`{|}~0@b.example", undefined],
  ])('reads %j', (input, email, name) => {
    expect(parsed(input)).toEqual(name === undefined ? { email } : { email, name });
  });

  it.each([
    ['a list', 'a@b.example, c@d.example'],
    ['a list of named ones', 'A <a@b.example>, C <c@d.example>'],
    ['a semicolon list', 'a@b.example;c@d.example'],
    ['a group', 'friends: a@b.example;'],
    ['a comment', 'a(comment)@b.example'],
    ['an encoded word', '=?utf-8?b?Y2VvQGJhbmsuZXhhbXBsZQ==?=@b.example'],
    ['an unfinished encoded word', '=?utf-8?Q?ceo=40bank.example=00@b.example'],
    ['a comment as name', 'a@b.example (Ann)'],
    ['an address as unquoted name', 'a@b.example <c@d.example>'],
    ['a source route', '<@relay.example:a@b.example>'],
    ['a percent route is only a local part, two signs are not', 'a%c@d.example@b.example'],
    ['an address literal', 'a@[127.0.0.1]'],
    ['an IPv6 literal', 'a@[IPv6:::1]'],
    ['an IPv4 address', 'a@127.0.0.1'],
    ['a short IPv4 address', 'a@127.1'],
    ['a hexadecimal address', 'a@0x7f.0x1'],
    ['an escaped domain', 'a@ex%61mple.com'],
    ['a path', 'a@b.example/x'],
    ['a port', 'a@b.example:25'],
    ['one label', 'a@localhost'],
    ['a trailing dot', 'a@b.example.'],
    ['an empty label', 'a@b..example'],
    ['an underscore', 'a@b_c.example'],
    ['a hyphen at an edge', 'a@-b.example'],
    ['a label of 64', `a@${'b'.repeat(64)}.example`],
    ['a domain of 254', `a@${'b.'.repeat(124)}example`],
    ['an address of 255', `${'a'.repeat(64)}@${'b.'.repeat(92)}exampl`],
    ['a local part of 65', `${'a'.repeat(65)}@b.example`],
    ['a local part of 66 bytes', `${'ü'.repeat(33)}@b.example`],
    ['no local part', '@b.example'],
    ['no domain', 'a@'],
    ['nothing', ''],
    ['a word', 'ann'],
    ['a leading dot', '.a@b.example'],
    ['two dots', 'a..b@b.example'],
    ['a space inside', 'a b@b.example'],
    ['a space around', ' a@b.example'],
    ['a space in the brackets', 'A < a@b.example>'],
    ['a trailing space', 'A <a@b.example> '],
    ['a quoted local part', '"a b"@b.example'],
    ['a quoted local part with CRLF', '"a\r\nb"@b.example'],
    ['CRLF in the address', 'a@b.example\r\nBcc: x@y.example'],
    ['CRLF in the name', 'A\r\nBcc: x@y.example <a@b.example>'],
    ['CRLF in a quoted name', '"A\r\n B" <a@b.example>'],
    ['CRLF around a quoted name', '\r\n"A" <a@b.example>'],
    ['CR in a name', { email: 'a@b.example', name: 'A\rB' }],
    ['a trailing newline in a name', { email: 'a@b.example', name: 'A\n' }],
    ['NUL in a name', { email: 'a@b.example', name: 'A\0B' }],
    ['a C1 control in a name', { email: 'a@b.example', name: 'A\u0085B' }],
    ['a line separator in a name', { email: 'a@b.example', name: 'A\u2028B' }],
    ['an override in a name', { email: 'a@b.example', name: '\u202egpj.exe' }],
    ['a lone surrogate in a name', { email: 'a@b.example', name: 'A\ud800' }],
    ['a name of 321', { email: 'a@b.example', name: 'n'.repeat(321) }],
    ['a name that is no string', { email: 'a@b.example', name: 7 }],
    ['brackets in email', { email: '<a@b.example>' }],
    ['an email that is no string', { email: ['a@b.example'] }],
    ['no email', {}],
    ['an array', ['a@b.example']],
    ['null', null],
    ['a number', 7],
    ['an open quote', '"A <a@b.example>'],
    ['text after the quotes', '"A" B" <a@b.example>'],
    ['no opening bracket', 'a@b.example>'],
    ['a nested bracket', 'A <<a@b.example>>'],
    ['an ideographic dot', 'a@b。example'],
    ['a full-width dot', 'a@b\uff0eexample'],
    ['full-width letters', 'a@\uff45x.example'],
    ['a full-width at', 'a\uff20b.example'],
    ['a soft hyphen', 'a@b\u00adc.example'],
    ['a zero-width joiner', 'a@b\u200dc.example'],
    ['a false A-label', 'a@xn--abc-.example'],
    ['a broken A-label', 'a@xn--0.example'],
    ['a bidi violation', 'a@\u05d0a.example'],
    ['a zero-width space', 'a\u200bb@b.example'],
    ['an override', 'a\u202eb@b.example'],
    ['a no-break space', 'a\u00a0b@b.example'],
    ['a lone surrogate', 'a\ud800@b.example'],
    ['a lone surrogate in the domain', 'a@b\udc00.example'],
    ['a C1 control', 'a\u0085@b.example'],
    ['a filler', 'a\u3164@b.example'],
    ['a leading combining mark', '\u0338a@b.example'],
    ['what composes to a semicolon', 'a\u037eb@b.example'],
    ['what composes to a space', 'a\u2000b@b.example'],
  ])('refuses %s', (_, input) => {
    const result = parseMailbox(input);
    expect(result).toEqual({ ok: false, message: expect.stringMatching(/^(must|has|needs|is) .{5,120}$/) });
  });

  it('refuses a megabyte without reading it', () => {
    for (const unit of ['a', '@', '.', '<', '"', '\\"', 'a.', 'ü', '\u0338']) {
      const long = unit.repeat(1_000_000);
      expect(parseMailbox(long).ok).toBe(false);
      expect(parseMailbox(`${long}@b.example`).ok).toBe(false);
      expect(parseMailbox({ email: `a@${long}.example` }).ok).toBe(false);
      expect(parseMailbox({ email: 'a@b.example', name: long }).ok).toBe(false);
      expect(parseMailbox(`"${long}" <a@b.example>`).ok).toBe(false);
    }
  });

  it('never throws, lets no control through and is idempotent', () => {
    const inputs = fc.oneof(HOSTILE, fc.record({ email: HOSTILE, name: HOSTILE }), fc.anything());
    fc.assert(
      fc.property(inputs, (input) => {
        const result = parseMailbox(input);
        if (!result.ok) return;
        expect(parseMailbox(result.mailbox)).toEqual(result);
        expect(parseMailbox(result.mailbox.email)).toEqual({ ok: true, mailbox: { email: result.mailbox.email } });
        expect(result.mailbox.email).not.toMatch(CONTROL);
        expect(result.mailbox.email).not.toMatch(/[\s<>,;:"()]/);
        expect(result.mailbox.name ?? '').not.toMatch(CONTROL);
      }),
      { numRuns: 20_000 },
    );
  });

  it('accepts every valid address, also with a name in quotes', () => {
    const atom = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,12}$/);
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9]{0,10}[a-z0-9])?$/);
    const letters = fc.stringMatching(/^[a-z]{2,10}$/);
    const local = fc.array(atom, { minLength: 1, maxLength: 4 }).map((atoms) => atoms.join('.'));
    const domain = fc
      .tuple(fc.array(label, { minLength: 1, maxLength: 5 }), letters)
      .map(([labels, top]) => [...labels, top].join('.'));
    const name = fc
      .string({ unit: 'grapheme', maxLength: 40 })
      .filter((text) => !/[\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(text));
    fc.assert(
      fc.property(local, domain, name, (localPart, domainName, displayName) => {
        const email = `${localPart}@${domainName}`;
        expect(parsed(email)).toEqual({ email });
        const trimmed = displayName.trim();
        const expected = trimmed === '' ? { email } : { email, name: trimmed };
        expect(parsed({ email, name: displayName })).toEqual(expected);
        expect(parsed(`"${displayName.replace(/["\\]/g, '\\$&')}" <${email}>`)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepts non-ASCII local parts and domains of letters', () => {
    const word = fc.array(fc.constantFrom('ä', 'ж', 'λ', '字', 'ñ', '한', 'é', 'a', '9'), {
      minLength: 1,
      maxLength: 10,
    });
    fc.assert(
      fc.property(word, word, (local, label) => {
        const result = parseMailbox(`${local.join('')}@${label.join('')}.example`);
        expect(result.ok).toBe(true);
      }),
    );
  });
});

describe('addressKey', () => {
  it('folds the case of the whole address', () => {
    expect(addressKey('Ann.Lee@b.example')).toBe('ann.lee@b.example');
    expect(addressKey('ÄNN@b.example')).toBe('änn@b.example');
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(HOSTILE, (text) => addressKey(addressKey(text)) === addressKey(text)),
      { numRuns: 5_000 },
    );
  });
});

describe('the parts of an address', () => {
  it('names the domain', () => {
    expect(domainOf('a@b.example')).toBe('b.example');
  });

  it('knows who needs SMTPUTF8', () => {
    expect(needsSmtpUtf8('a@xn--bcher-kva.example')).toBe(false);
    expect(needsSmtpUtf8('jörg@b.example')).toBe(true);
  });

  it('reads bare addresses only', () => {
    expect(parseAddress('A@B.example')).toEqual({ ok: true, email: 'A@b.example' });
    expect(parseAddress('A <a@b.example>').ok).toBe(false);
  });

  it('says what has become of a plus sign in a URL', () => {
    const message = 'has a space before the @ (in a URL, a plus sign is written %2B)';
    expect(parseAddress('ada test@b.example')).toEqual({ ok: false, message });
  });
});

describe('maskAddress', () => {
  it.each([
    ['jane.doe@example.com', 'j***@example.com'],
    ['j@example.com', 'j***@example.com'],
    ['"a@b"@example.com', '"***@example.com'],
    ['😀smile@example.com', '😀***@example.com'],
    ['@example.com', '***@example.com'],
  ])('shows %s as %s', (email, masked) => {
    expect(maskAddress(email)).toBe(masked);
  });
});
