import { reverseName } from './node-dns-resolver';

describe('reverseName', () => {
  it.each([
    ['192.0.2.1', '1.2.0.192.in-addr.arpa'],
    ['2001:db8::567:89ab', 'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
    ['::1', `1.${'0.'.repeat(31)}ip6.arpa`],
  ])('of %s', (address, name) => expect(reverseName(address)).toBe(name));

  it.each(['', 'localhost', '1.2.3', '192.0.2.256'])('%j is no address', (text) =>
    expect(reverseName(text)).toBeUndefined(),
  );
});
