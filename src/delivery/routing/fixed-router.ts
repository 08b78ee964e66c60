import { lookup } from 'node:dns/promises';
import { SECOND, type Clock } from '../../common/clock';
import { dnsErrorCode } from '../../common/dns/dns-resolver';
import type { DeliveryConfig } from '../../config/config';
import { dnsTrouble, type Route, Router } from './router';

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
  /** Addresses of the host, as the system knows them. */
  readonly lookUp?: (hostName: string) => Promise<readonly string[]>;
}

const LIFE_MS = 30 * SECOND;

/**
 * Routes everything to one host: a relay, or the built-in mailbox. The name is looked up as the system does it, hosts
 * file included, since it is the operator's and may be a container's; no address is refused for the same reason.
 */
export class FixedRouter extends Router {
  private readonly lookUp: (hostName: string) => Promise<readonly string[]>;
  private route: Promise<Route> | undefined;
  private expiresAtMs = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly options: FixedRouterOptions,
  ) {
    super();
    this.lookUp = options.lookUp ?? lookUpInSystem;
  }

  override resolve(): Promise<Route> {
    if (this.route === undefined || this.expiresAtMs <= this.clock.monotonicMs()) {
      this.expiresAtMs = this.clock.monotonicMs() + LIFE_MS;
      this.route = this.findRoute();
    }
    return this.route;
  }

  private async findRoute(): Promise<Route> {
    const { hostName, port, final } = this.options;
    try {
      const addresses = await this.lookUp(hostName);
      if (addresses.length === 0) return dnsTrouble('ENODATA');
      return { kind: 'hosts', hosts: [{ hostName, addresses, preference: 0 }], port, final };
    } catch (error) {
      // Never permanent, NXDOMAIN included: a slip in the operator's configuration must not bounce the queue.
      return dnsTrouble(dnsErrorCode(error));
    }
  }
}

async function lookUpInSystem(hostName: string): Promise<readonly string[]> {
  const found = await lookup(hostName, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}
