import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { DnsResolver, LookupOptions } from '../dns/dns-resolver';
import { isLoopback, isPublicAddress } from '../dns/public-address';

/** What became of looking a host up. `refused`: it must not be connected to; `temporary`: nothing is known now. */
export type EgressCheck =
  | { readonly kind: 'allowed'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused' | 'temporary'; readonly reason: string };

/** Decides whether the service may open a connection of its own to where a customer points it (SSRF). */
export abstract class EgressGuard {
  /** Looks up the URL's host and checks every address by range; connections go to these addresses and no others. */
  abstract check(url: URL, options?: LookupOptions): Promise<EgressCheck>;
}

export interface PublicEgressOptions {
  /** This machine may be connected to as well: loopback, never another private network. For tests. */
  readonly allowLoopback: boolean;
  /** Every address: for closed networks. */
  readonly allowPrivate?: boolean;
}

/** The same reason for all of these: it must not tell customers which names exist in the operator's network. */
const NOT_PUBLIC: EgressCheck = { kind: 'refused', reason: 'the host must exist and have public addresses only' };
const LOOPBACK = ['127.0.0.1', '::1'];
/** Of each family: a name with thousands of addresses that refuse would make one request try all of them. */
const MAX_ADDRESSES_TRIED = 8;

/**
 * Lets connections out to the public Internet only. A host passes when every address it has is public by number, so that
 * no resolver can mix in one that is not; what is checked is what must be connected to, since a second look-up may return
 * others. The URL parser has already brought every spelling of an IPv4 address into the usual form.
 */
export class PublicEgressGuard extends EgressGuard {
  constructor(
    private readonly resolver: DnsResolver,
    private readonly options: PublicEgressOptions,
  ) {
    super();
  }

  override async check(url: URL, options: LookupOptions = {}): Promise<EgressCheck> {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      return { kind: 'refused', reason: 'only https is sent to' };
    }
    const host = hostOf(url);
    if (isIP(host) !== 0) return this.evaluate([host]);
    if (isLocalName(host)) return this.evaluate(LOOPBACK);
    const found = await this.resolver.resolveAddresses(host, options);
    switch (found.kind) {
      case 'found':
        return this.evaluate(found.records.map(({ address }) => address));
      case 'no-data':
      case 'no-domain':
        return NOT_PUBLIC;
      case 'temporary':
        return { kind: 'temporary', reason: 'the host name could not be looked up' };
    }
  }

  private evaluate(addresses: readonly string[]): EgressCheck {
    const mayBeUsed = (address: string) =>
      this.options.allowPrivate === true ||
      isPublicAddress(address) ||
      (this.options.allowLoopback && isLoopback(address));
    return addresses.every(mayBeUsed) ? { kind: 'allowed', addresses } : NOT_PUBLIC;
  }
}

/** Whether a URL says by itself where it leads, without a look into DNS: an address, or this machine. */
export function isAddressed(url: URL): boolean {
  const host = hostOf(url);
  return isIP(host) !== 0 || isLocalName(host);
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** `localhost` and the names below it never leave the machine (RFC 6761 section 6.3), so no look-up is made. */
function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** The first ones of each family. */
function firstOfEach(addresses: readonly string[]): string[] {
  const of = (family: number) => addresses.filter((one) => isIP(one) === family).slice(0, MAX_ADDRESSES_TRIED);
  return [...of(4), ...of(6)];
}

/** A look-up for `connect` that always returns these addresses: the first ones of each family. */
export function fixedLookup(addresses: readonly string[]): LookupFunction {
  const records = firstOfEach(addresses).map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    const [first] = records;
    if (options.all === true) callback(null, records);
    else callback(null, first?.address ?? '', first?.family);
  };
}

/** Whether the peer of a connection is one of the addresses that were checked. */
export function isAmong(address: string | undefined, checked: readonly string[]): boolean {
  if (address === undefined || isIP(address) === 0) return false;
  const plain = ipaddr.process(address).toString();
  return checked.some((one) => ipaddr.process(one).toString() === plain);
}
