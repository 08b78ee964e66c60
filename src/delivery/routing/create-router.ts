import { networkInterfaces } from 'node:os';
import type { Clock } from '../../common/clock';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { isPublicAddress } from '../../common/dns/public-address';
import type { DeliveryConfig } from '../../config/config';
import { DirectRouter } from './direct-router';
import { FixedRouter, nextHopOf } from './fixed-router';
import type { Router } from './router';

/**
 * The router of a delivery mode: to the recipients' own servers, to the relay, or to the built-in mailbox.
 * @param openMailbox starts the mailbox's listener, which only the local mode needs; returns its port
 */
export async function createRouter(
  config: DeliveryConfig,
  clock: Clock,
  openMailbox: () => Promise<number>,
): Promise<Router> {
  const { relay, smtpPort, mailHost, allowPrivateDestinations, preferIpv6, dnsServers } = config;
  const hostName = nextHopOf(config);
  if (hostName !== undefined) {
    const next = relay ? { port: relay.port, final: false } : { port: await openMailbox(), final: true };
    return new FixedRouter(clock, { hostName, ...next });
  }
  const resolver = new NodeDnsResolver({ servers: dnsServers });
  const options = { port: smtpPort, ownHostNames: [mailHost], allowPrivateDestinations, preferIpv6 };
  return new DirectRouter(resolver, clock, { ...options, hasIpv6: () => hasIpv6(allowPrivateDestinations) });
}

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
