import * as fc from 'fast-check';
import { AppError } from '../../../common/errors/app-error';
import {
  assertSafeEnvelope,
  findLocalRefusal,
  mailCommand,
  NO_CAPABILITIES,
  rcptCommand,
  readCapabilities,
  type SmtpEnvelope,
} from './smtp-envelope';

function offers(...lines: string[]): ReturnType<typeof readCapabilities> {
  return readCapabilities({ code: 250, lines: ['mx.example.com greets you', ...lines] });
}

describe('readCapabilities', () => {
  it('reads what this client uses, in any case, and passes over the rest', () => {
    expect(offers('PIPELINING', '8bitmime', 'SmtpUtf8', 'STARTTLS', 'SIZE 1000', 'XVENDOR a b', 'dsn')).toEqual({
      isExtended: true,
      pipelining: true,
      eightBitMime: true,
      smtpUtf8: true,
      dsn: true,
      startTls: true,
      sizeLimit: 1_000,
      authMechanisms: new Set(),
    });
  });

  it('offers nothing when nothing is said', () => {
    expect(offers()).toEqual({ ...NO_CAPABILITIES, isExtended: true });
    expect(NO_CAPABILITIES).toEqual({
      isExtended: false,
      ...{ pipelining: false, eightBitMime: false, smtpUtf8: false, dsn: false, startTls: false },
      ...{ sizeLimit: undefined, authMechanisms: new Set() },
    });
  });

  it('does not take the greeting for an offer', () => {
    expect(readCapabilities({ code: 250, lines: ['STARTTLS'] }).startTls).toBe(false);
  });

  it.each([
    ['SIZE', 0],
    ['SIZE 0', 0],
    ['SIZE 35882577', 35_882_577],
    ['SIZE many', 0],
    ['SIZE -5', 0],
    ['SIZE 5x', 0],
    ['SIZE 999999999999999', 999_999_999_999_999],
    ['SIZE  7', 7],
    ['SIZE 9999999999999999999999', 0],
  ])('reads the limit of %j', (line, sizeLimit) => {
    expect(offers(line).sizeLimit).toBe(sizeLimit);
  });

  it.each([[['AUTH PLAIN login']], [['AUTH=PLAIN LOGIN']], [['AUTH PLAIN', 'AUTH=LOGIN']], [['AUTH  PLAIN  LOGIN']]])(
    'reads the mechanisms of %j',
    (lines) => {
      expect(offers(...lines).authMechanisms).toEqual(new Set(['PLAIN', 'LOGIN']));
    },
  );

  it('does not take a keyword for a longer one', () => {
    expect(offers('STARTTLSX', 'XPIPELINING')).toMatchObject({ startTls: false, pipelining: false });
    expect(offers('XAUTH=LOGIN').authMechanisms).toEqual(new Set());
  });
});

const ENVELOPE: SmtpEnvelope = {
  from: 'b+token@bounce.example.com',
  recipient: 'user@example.org',
  size: 1_234,
  smtpUtf8: false,
  eightBit: false,
};

describe('assertSafeEnvelope', () => {
  it.each([
    ['user@example.org'],
    ['first.last+tag@xn--bcher-kva.example'],
    ["o'brien!#$%&*/=?^`{|}~@example.org"],
    ['user@[192.0.2.1]'],
    ['"two words"@example.org'],
    ['"a<b>c"@example.org'],
    ['"quote \\" inside"@example.org'],
  ])('takes %j', (recipient) => {
    expect(() => assertSafeEnvelope({ ...ENVELOPE, recipient })).not.toThrow();
  });

  it.each([
    [''],
    ['a\r\nRSET@example.org'],
    ['a\r@example.org'],
    ['a\n@example.org'],
    ['a\0@example.org'],
    ['a\u007f@example.org'],
    ['a b@example.org'],
    ['a@example.org> SIZE=1'],
    ['<a@example.org>'],
    ['a>@example.org'],
    ['"a\r\nb"@example.org'],
    ['"a"b c"@example.org'],
    ['"a\\'],
    ['"a\\\n"@example.org'],
    ['"a"@exa mple.org'],
    [`${'a'.repeat(320)}@example.org`],
    ['\u010auser@example.org'],
    ['b\u00fccher@example.org'],
  ])('refuses %j on either side', (address) => {
    expect(() => assertSafeEnvelope({ ...ENVELOPE, recipient: address })).toThrow(AppError);
    if (address !== '') expect(() => assertSafeEnvelope({ ...ENVELOPE, from: address })).toThrow(AppError);
  });

  it('takes the null sender', () => {
    expect(() => assertSafeEnvelope({ ...ENVELOPE, from: '' })).not.toThrow();
  });

  it('takes non-ASCII with SMTPUTF8 only', () => {
    const envelope = { ...ENVELOPE, recipient: 'b\u00fccher@example.org', smtpUtf8: true };
    expect(() => assertSafeEnvelope(envelope)).not.toThrow();
  });

  it('what it takes is always one command of one line', () => {
    const address = fc.string({
      unit: fc.constantFrom('a', '@', '"', '\\', ' ', '<', '>', '\r', '\n', '\0', '\u010a'),
    });
    fc.assert(
      fc.property(address, fc.boolean(), (recipient, smtpUtf8) => {
        const envelope = { ...ENVELOPE, recipient, smtpUtf8 };
        try {
          assertSafeEnvelope(envelope);
        } catch {
          return;
        }
        const wire = Buffer.from(rcptCommand(envelope, NO_CAPABILITIES), smtpUtf8 ? 'utf8' : 'latin1').toString(
          'latin1',
        );
        expect(wire.slice(0, -2)).not.toMatch(/[\r\n\0]/);
        expect(wire.replace(/"(?:[^"\\]|\\.)*"/g, '')).toMatch(/^RCPT TO:<[^<> ]*>\r\n$/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('mailCommand', () => {
  const everything = { ...NO_CAPABILITIES, sizeLimit: 0, eightBitMime: true, smtpUtf8: true };

  it('is plain for a plain server', () => {
    expect(mailCommand(ENVELOPE, NO_CAPABILITIES)).toBe('MAIL FROM:<b+token@bounce.example.com>\r\n');
    expect(mailCommand({ ...ENVELOPE, from: '' }, NO_CAPABILITIES)).toBe('MAIL FROM:<>\r\n');
  });

  it('has the parameters that are needed and offered', () => {
    expect(mailCommand(ENVELOPE, everything)).toBe('MAIL FROM:<b+token@bounce.example.com> SIZE=1234\r\n');
    const demanding = { ...ENVELOPE, from: '', eightBit: true, smtpUtf8: true };
    expect(mailCommand(demanding, everything)).toBe('MAIL FROM:<> SIZE=1234 BODY=8BITMIME SMTPUTF8\r\n');
  });
});

describe('findLocalRefusal', () => {
  it.each([
    ['a size over the limit', { size: 1_001 }, { sizeLimit: 1_000 }, '5.3.4'],
    ['SMTPUTF8 not offered', { smtpUtf8: true }, { isExtended: true }, '5.6.7'],
    ['8BITMIME not offered', { eightBit: true }, { isExtended: true }, '5.6.3'],
    ['8BITMIME where EHLO was refused, perhaps for the moment', { eightBit: true }, {}, '4.6.3'],
    ['a size at the limit', { size: 1_000 }, { sizeLimit: 1_000 }, undefined],
    ['no fixed limit', { size: 10 ** 9 }, { sizeLimit: 0 }, undefined],
    ['no SIZE at all', { size: 10 ** 9 }, {}, undefined],
    ['all that is needed', { smtpUtf8: true, eightBit: true }, { smtpUtf8: true, eightBitMime: true }, undefined],
  ])('for %s', (_case, needed, offered, enhancedCode) => {
    const refusal = findLocalRefusal({ ...ENVELOPE, ...needed }, { ...NO_CAPABILITIES, ...offered });
    expect(refusal?.enhancedCode).toBe(enhancedCode);
  });
});
