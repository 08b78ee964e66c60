/**
 * The answer to one look-up. `no-data`: the name exists without such a record. `no-domain`: the name does not exist
 * (NXDOMAIN) or cannot, being no host name at all. `temporary`: nothing is known now — a timeout, SERVFAIL, a refusal —
 * and nothing may be concluded from it.
 */
export type DnsAnswer<Item> =
  | {
      readonly kind: 'found';
      /** At least one. */
      readonly records: readonly Item[];
      /** Least time to live of the records, where the platform tells it: addresses only. */
      readonly ttlSeconds?: number;
    }
  | { readonly kind: 'no-data' }
  | { readonly kind: 'no-domain' }
  | { readonly kind: 'temporary'; readonly reason: string };

export interface MxRecord {
  readonly preference: number;
  /** Lower case, without the last dot; empty for the root, which is how a null MX (RFC 7505) names its host. */
  readonly exchange: string;
}

export interface IpAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface LookupOptions {
  /** Ends the look-up early, as `temporary`. */
  readonly signal?: AbortSignal;
}

/** Where the service asks the DNS. Never throws for what the DNS may answer; names are given as A-labels. */
export abstract class DnsResolver {
  /** Mail exchangers in no particular order. */
  abstract resolveMx(name: string, options?: LookupOptions): Promise<DnsAnswer<MxRecord>>;
  /** A and AAAA records, those of IPv4 first. What one family has is answered although the other fails. */
  abstract resolveAddresses(name: string, options?: LookupOptions): Promise<DnsAnswer<IpAddress>>;
  /** TXT records, each with its strings joined (RFC 7208 section 3.3). */
  abstract resolveTxt(name: string, options?: LookupOptions): Promise<DnsAnswer<string>>;
  /** The alias target, lower case. */
  abstract resolveCname(name: string, options?: LookupOptions): Promise<DnsAnswer<string>>;
  /** The names of an IP address, lower case. */
  abstract resolvePtr(address: string, options?: LookupOptions): Promise<DnsAnswer<string>>;
}
