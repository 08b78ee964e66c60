import fc from 'fast-check';
import { domainsAbove, parseRouteAddress, routesFor, withoutQuotes } from './route-address';

describe('parseRouteAddress', () => {
  it.each([
    ['Support@In.Example.com', 'support@in.example.com', 'in.example.com'],
    ['*@IN.example.com', '*@in.example.com', 'in.example.com'],
  ])('%s', (text, address, host) => {
    expect(parseRouteAddress(text)).toEqual({ address, host });
  });

  it.each(['', '*', 'a', '*@', '*a@example.com', 'a*@example.com', '**@example.com', 'a@b@c.com', '*@a b.com'])(
    'refuses %j',
    (text) => expect(() => parseRouteAddress(text)).toThrow('Request validation failed'),
  );

  it('is what the mail to it is looked up by', () => {
    fc.assert(
      fc.property(fc.emailAddress(), (email) => {
        const found = routesFor(email);
        fc.pre(found !== undefined && !email.startsWith('*') && !email.split('@')[0]?.includes('*'));
        expect(found?.exact).toContain(parseRouteAddress(email).address);
        expect(parseRouteAddress(`*@${found?.names[0]}`).address).toBe(found?.wildcard);
      }),
    );
  });
});

describe('domainsAbove', () => {
  it('goes up to the last name with a dot', () => {
    expect(domainsAbove('a.in.example.com')).toEqual(['a.in.example.com', 'in.example.com', 'example.com']);
  });
});

describe('withoutQuotes', () => {
  it.each([
    ['"ada.l"@in.example.com', 'ada.l@in.example.com'],
    ['"a\\d\\a"@in.example.com', 'ada@in.example.com'],
    ['ada@in.example.com', 'ada@in.example.com'],
    ['"a b"@in.example.com', '"a b"@in.example.com'],
    ['"a@b"@in.example.com', '"a@b"@in.example.com'],
    ['"a..b"@in.example.com', '"a..b"@in.example.com'],
    ['""@in.example.com', '""@in.example.com'],
  ])('%s', (recipient, plain) => {
    expect(withoutQuotes(recipient)).toBe(plain);
  });
});
