import type { Clock } from '../../common/clock';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import type { DeliveryConfig } from '../../config/config';
import { DirectRouter } from './direct-router';
import { FixedRouter } from './fixed-router';
import { hasIpv6 } from './own-addresses';
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
  const { mode, relay, smtpPort, mailHost, allowPrivateDestinations, preferIpv6, dnsServers } = config;
  if (mode === 'local') {
    return new FixedRouter(clock, { hostName: '127.0.0.1', port: await openMailbox(), final: true });
  }
  if (relay) return new FixedRouter(clock, { hostName: relay.host, port: relay.port, final: false });
  const resolver = new NodeDnsResolver({ servers: dnsServers });
  const options = { port: smtpPort, ownHostNames: [mailHost], allowPrivateDestinations, preferIpv6 };
  return new DirectRouter(resolver, clock, { ...options, hasIpv6: () => hasIpv6(allowPrivateDestinations) });
}
