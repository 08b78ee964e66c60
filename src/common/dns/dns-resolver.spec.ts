import { isHostName } from './dns-resolver';

describe('isHostName', () => {
  it.each(['example.com', 'EXAMPLE.com.', 'localhost', '_dmarc.example.com', 'xn--mnchen-3ya.example', 'a-b.c'])(
    'takes %s',
    (name) => expect(isHostName(name)).toBe(true),
  );

  it.each(['', '.', 'a..b', '-a.com', 'a-.com', 'a b.com', 'a\u0000b.com', 'münchen.example', `${'x'.repeat(64)}.com`])(
    'refuses %j',
    (name) => expect(isHostName(name)).toBe(false),
  );

  it('refuses more than 253 characters', () => {
    const label = 'x'.repeat(49);
    expect(isHostName([label, label, label, label, label, 'xyz'].join('.'))).toBe(true);
    expect(isHostName([label, label, label, label, label, 'wxyz'].join('.'))).toBe(false);
  });
});
