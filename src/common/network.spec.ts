import { clientNetworkOf, opensPort, ownedNetworkOf, parseUrl } from './network';

describe('parseUrl', () => {
  it('returns the same after many calls', () => {
    for (let count = 0; count < 100_000; count += 1) parseUrl('https://a.example/');
    expect(parseUrl('https://bücher.example/é')?.href).toBe('https://xn--bcher-kva.example/%C3%A9');
  });

  it.each(['', 'a.example', '/path', 'https://', 'https://[', 'https://a b/'])('knows none in %j', (text) => {
    expect(parseUrl(text)).toBeUndefined();
  });
});

const failing = (code: string): Promise<never> => Promise.reject(Object.assign(new Error(`listen ${code}`), { code }));
const at = { host: '127.0.0.1', port: 25 };

describe('opensPort', () => {
  it('returns what the opening returns', async () => {
    await expect(opensPort('PORT', at, Promise.resolve(7))).resolves.toBe(7);
  });

  it.each([
    ['EADDRINUSE', 'PORT: port 25 on 127.0.0.1 is in use by another process'],
    ['EACCES', 'PORT: port 25 on 127.0.0.1 may not be opened by this user'],
    ['EADDRNOTAVAIL', 'see HOST'],
    ['ENOTFOUND', 'see HOST'],
  ])('says of %s what to do', async (code, message) => {
    await expect(opensPort('PORT', at, failing(code))).rejects.toThrow(message);
  });

  it('leaves other errors alone', async () => {
    await expect(opensPort('PORT', at, failing('EMFILE'))).rejects.toThrow('listen EMFILE');
  });
});

describe('client networks', () => {
  it('counts a /64 of IPv6 as one client', () => {
    expect(clientNetworkOf('2001:db8:1:2:3:4:5:6')).toBe(clientNetworkOf('2001:db8:1:2::1'));
    expect(clientNetworkOf('2001:db8:1:3::1')).not.toBe(clientNetworkOf('2001:db8:1:2::1'));
    expect(clientNetworkOf('::ffff:203.0.113.5')).toBe(clientNetworkOf('203.0.113.5'));
  });

  it('knows what one owner may have around a client: a /48 of IPv6, a /24 of IPv4', () => {
    const ownerOf = (ip: string) => ownedNetworkOf(clientNetworkOf(ip));
    expect(ownerOf('2001:db8:1:2::1')).toBe(ownerOf('2001:db8:1:ffff::1'));
    expect(ownerOf('2001:db8:1::1')).not.toBe(ownerOf('2001:db8:2::1'));
    expect(ownerOf('203.0.113.5')).toBe(ownerOf('::ffff:203.0.113.99'));
    expect(ownerOf('203.0.113.5')).not.toBe(ownerOf('203.0.114.5'));
    expect(ownerOf('')).toBe('');
  });
});
