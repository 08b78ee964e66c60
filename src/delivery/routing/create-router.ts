import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { Logger } from '@nestjs/common';
import { type Clock, SECOND } from '../../common/clock';
import { dnsErrorCode } from '../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { isPublicAddress } from '../../common/dns/public-address';
import type { DeliveryConfig } from '../../config/config';
import { DirectRouter } from './direct-router';
import { dnsFailure, type Route, Router } from './router';

/** The one host that takes everything, by which its group is called: the built-in mailbox's, or the relay; none in direct mode. */
export function nextHopOf({ mode, relay }: Pick<DeliveryConfig, 'mode' | 'relay'>): string | undefined {
  return mode === 'local' ? '127.0.0.1' : relay?.host;
}

export interface FixedRouterOptions {
  /** Name or address of the one host that takes everything. */
  readonly hostName: string;
  readonly port: number;
  /** False for a relay, true for the built-in mailbox. */
  readonly final: boolean;
  /** Addresses of the host from the system's resolver. */
  readonly lookUp?: (hostName: string) => Promise<readonly string[]>;
}

const LIFE_MS = 30 * SECOND;
/** All mail waits for this one name. */
const FAILURE_LIFE_MS = SECOND;

/**
 * Routes everything to one host: a relay, or the built-in mailbox. The system resolves the name, hosts file included, since the
 * operator chose it and it may be a container; no address is refused for the same reason.
 *
 * Once it has been found, its last addresses go on being used for as long as look-ups fail.
 */
export class FixedRouter extends Router {
  private readonly lookUp: (hostName: string) => Promise<readonly string[]>;
  private readonly logger = new Logger(FixedRouter.name);
  private route: Promise<Route> = Promise.resolve(dnsFailure('ENODATA'));
  private lastGood: Route | undefined;
  private isFailing = false;
  private expiresAtMs = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly options: FixedRouterOptions,
  ) {
    super();
    this.lookUp = options.lookUp ?? lookUpInSystem;
  }

  override resolve(): Promise<Route> {
    if (this.expiresAtMs <= this.clock.monotonicMs()) {
      this.expiresAtMs = Infinity;
      const next = this.renew();
      // A resolver that is down is silent for many seconds, which no mail waits for twice.
      if (!this.isFailing || this.lastGood === undefined) this.route = next;
    }
    return this.route;
  }

  private async renew(): Promise<Route> {
    const found = await this.findRoute();
    const hasFailed = found.kind === 'unroutable';
    if (hasFailed && !this.isFailing) this.logger.warn(`${this.options.hostName}: ${found.reason}`);
    if (!hasFailed) this.lastGood = found;
    this.isFailing = hasFailed;
    this.expiresAtMs = this.clock.monotonicMs() + (hasFailed ? FAILURE_LIFE_MS : LIFE_MS);
    const route = this.lastGood ?? found;
    this.route = Promise.resolve(route);
    return route;
  }

  private async findRoute(): Promise<Route> {
    const { hostName, port, final } = this.options;
    try {
      const addresses = await this.lookUp(hostName);
      if (addresses.length === 0) return dnsFailure('ENODATA');
      return { kind: 'hosts', hosts: [{ hostName, addresses, preference: 0 }], port, final };
    } catch (error) {
      // Never permanent, NXDOMAIN included: a slip in the operator's configuration must not bounce the queue.
      return dnsFailure(dnsErrorCode(error));
    }
  }
}

async function lookUpInSystem(hostName: string): Promise<readonly string[]> {
  const found = await lookup(hostName, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}

/**
 * The router of a delivery mode: to the recipients' own servers, to the relay, or to the built-in mailbox.
 * @param openMailbox starts the mailbox's listener, which only the local mode needs; returns its port
 * @param receives whether this service takes the mail of a host as its last server
 */
export async function createRouter(
  config: DeliveryConfig,
  clock: Clock,
  openMailbox: () => Promise<number>,
  receives: (host: string) => Promise<boolean>,
): Promise<Router> {
  const { relay, smtpPort, mailHost, allowPrivateDestinations, preferIpv6, dnsServers } = config;
  const hostName = nextHopOf(config);
  if (hostName !== undefined) {
    const next = relay ? { port: relay.port, final: false } : { port: await openMailbox(), final: true };
    return new FixedRouter(clock, { hostName, ...next });
  }
  const resolver = new NodeDnsResolver({ servers: dnsServers });
  const options = { port: smtpPort, ownHostNames: [mailHost], allowPrivateDestinations, preferIpv6 };
  return new DirectRouter(resolver, clock, { ...options, receives, hasIpv6: () => hasIpv6(allowPrivateDestinations) });
}

/**
 * Whether this machine can send by IPv6: it has an address of that family on the public Internet. Without one each attempt at
 * an IPv6 address would fail.
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
