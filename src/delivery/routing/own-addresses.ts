import { networkInterfaces } from 'node:os';
import { isPublicAddress } from '../../common/dns/public-address';

/**
 * Whether this machine can send by IPv6: it has an address of that family on the public Internet. Without one each attempt at
 * an IPv6 address would be in vain.
 * @param allowPrivate closed networks and tests: any address but a link-local one will do
 */
export function hasIpv6(
  allowPrivate: boolean,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): boolean {
  const own = Object.values(interfaces).flatMap((one) => one ?? []);
  return own
    .filter(({ family }) => family === 'IPv6')
    .some(({ address }) => isPublicAddress(address) || (allowPrivate && !/^fe[89ab]/i.test(address)));
}
