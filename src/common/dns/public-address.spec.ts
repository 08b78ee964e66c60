import fc from 'fast-check';
import { isLoopback, isPublicAddress } from './public-address';

describe('isLoopback', () => {
  it.each([['127.0.0.1'], ['127.8.9.10'], ['::1'], ['::ffff:127.0.0.1']])('%s is', (address) => {
    expect(isLoopback(address)).toBe(true);
  });

  it.each([
    ['192.0.2.1'],
    ['10.127.0.1'],
    ['::'],
    ['::ffff:10.0.0.1'],
    ['127.0.0.1.example.com'],
    ['localhost'],
    [undefined],
  ])('%s is not', (address) => {
    expect(isLoopback(address)).toBe(false);
  });
});

describe('isPublicAddress', () => {
  it.each(['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.1', '2a00:1450:4001::1', '2606:4700::1'])(
    'takes %s',
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '192.168.1.1'],
    ['shared', '100.64.0.1'],
    ['loopback', '127.0.0.1'],
    ['metadata service', '169.254.169.254'],
    ['platform service', '168.63.129.16'],
    ['protocol assignments', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['documentation', '203.0.113.7'],
    ['6to4 relay', '192.88.99.1'],
    ['benchmarking', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['IPv4-compatible', '::8.8.8.8'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped private', '::ffff:a00:1'],
    ['translated', '::ffff:0:8.8.8.8'],
    ['NAT64 loopback', '64:ff9b::7f00:1'],
    ['NAT64 private', '64:ff9b::10.0.0.1'],
    ['local NAT64', '64:ff9b:1::8.8.8.8'],
    ['discard', '100::1'],
    ['Teredo', '2001::1'],
    ['ORCHID', '2001:20::1'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['6to4 of a public address', '2002:808:808::1'],
    ['unassigned', '4000::1'],
    ['segment routing', '5f00::1'],
    ['unique local', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['no address', 'localhost'],
    ['a short form', '8.8'],
    ['an octal form', '010.0.0.1'],
    ['a number', '134744072'],
    ['no address', ''],
  ])('refuses %s %s', (_what, address) => expect(isPublicAddress(address)).toBe(false));

  it('treats mapped and NAT64 addresses as the IPv4 addresses that they are', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const expected = isPublicAddress(address);
        expect(isPublicAddress(`::ffff:${address}`)).toBe(expected);
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(expected);
      }),
    );
  });

  it('knows an IPv6 address in any spelling', () => {
    for (const address of ['0:0:0:0:0:0:0:1', '0000::0001', '::FFFF:7F00:0001', '::ffff:127.0.0.1']) {
      expect(isPublicAddress(address)).toBe(false);
    }
  });
});
