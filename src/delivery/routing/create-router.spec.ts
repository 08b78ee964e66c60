import type { NetworkInterfaceInfo } from 'node:os';
import { hasIpv6 } from './create-router';

const withAddress = (...addresses: string[]) => ({
  eth0: addresses.map(
    (address) => ({ address, family: address.includes(':') ? 'IPv6' : 'IPv4' }) as NetworkInterfaceInfo,
  ),
});

describe('IPv6 of this machine', () => {
  it.each([
    [['8.8.4.1'], false, false],
    [['8.8.4.1', '2a00:1450::1'], true, true],
    [['::1', 'fe80::1'], false, true],
    [['fe80::1'], false, false],
    [['fd00::1'], false, true],
    [[], false, false],
  ])('with %j: %s, in a closed network %s', (addresses, isPublic, isPrivate) => {
    expect(hasIpv6(false, withAddress(...addresses))).toBe(isPublic);
    expect(hasIpv6(true, withAddress(...addresses))).toBe(isPrivate);
  });
});
