import { NO_CAPABILITIES, readCapabilities } from './smtp-capabilities';

function offers(...lines: string[]): ReturnType<typeof readCapabilities> {
  return readCapabilities({ code: 250, lines: ['mx.example.com greets you', ...lines] });
}

describe('readCapabilities', () => {
  it('reads what this client uses, in any case, and passes over the rest', () => {
    expect(offers('PIPELINING', '8bitmime', 'SmtpUtf8', 'STARTTLS', 'SIZE 1000', 'XVENDOR a b', 'dsn')).toEqual({
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
    expect(offers()).toEqual(NO_CAPABILITIES);
    expect(NO_CAPABILITIES).toEqual({
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
  ])('reads %j', (line, sizeLimit) => {
    expect(offers(line).sizeLimit).toBe(sizeLimit);
  });

  it.each([[['AUTH PLAIN login']], [['AUTH=PLAIN LOGIN']], [['AUTH PLAIN', 'AUTH=LOGIN']], [['AUTH  PLAIN  LOGIN']]])(
    'reads %j',
    (lines) => {
      expect(offers(...lines).authMechanisms).toEqual(new Set(['PLAIN', 'LOGIN']));
    },
  );

  it('does not take a keyword for a longer one', () => {
    expect(offers('STARTTLSX', 'XPIPELINING')).toMatchObject({ startTls: false, pipelining: false });
    expect(offers('XAUTH=LOGIN').authMechanisms).toEqual(new Set());
  });
});
