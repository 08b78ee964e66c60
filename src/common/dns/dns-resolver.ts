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
      /** Least time to live of the records, where the platform reports it: addresses only. */
      readonly ttlSeconds?: number;
      /** Of addresses: nothing is known now of those of this family. */
      readonly failedFamily?: 4 | 6;
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
  /** On whose behalf: look-ups of one holder wait for each other sooner than another's for them. */
  readonly holder?: string;
}

/** DNS look-ups. Never throws for anything that the DNS may answer; names are given as A-labels. */
export abstract class DnsResolver {
  /** Mail exchangers in no particular order; of very many the preferred ones. */
  abstract resolveMx(name: string, options?: LookupOptions): Promise<DnsAnswer<MxRecord>>;
  /**
   * A and AAAA records, those of IPv4 first, of each the first 64. What one family has is answered although the other fails
   * (`failedFamily`).
   */
  abstract resolveAddresses(name: string, options?: LookupOptions): Promise<DnsAnswer<IpAddress>>;
  /** TXT records, each with its strings joined (RFC 7208 section 3.3). */
  abstract resolveTxt(name: string, options?: LookupOptions): Promise<DnsAnswer<string>>;
  /** The alias target, lower case. */
  abstract resolveCname(name: string, options?: LookupOptions): Promise<DnsAnswer<string>>;
  /** The names of an IP address, lower case. */
  abstract resolvePtr(address: string, options?: LookupOptions): Promise<DnsAnswer<string>>;
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;

/**
 * True for a name that the DNS can be asked for as a host: labels of 1–63 letters, digits, hyphens and underscores
 * (which service names such as `_dmarc` need), 253 characters in all, one last dot allowed (RFC 1035 section 2.3.4).
 */
export function isHostName(name: string): boolean {
  const bare = name.endsWith('.') ? name.slice(0, -1) : name;
  return bare.length <= 253 && bare.split('.').every((label) => LABEL.test(label));
}

/**
 * The code of a rejected look-up, such as `ESERVFAIL`; `unknown` for anything else. By shape, as errors of `node:dns`
 * are made in a realm of their own where tests run in another.
 */
export function dnsErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return 'unknown';
  return typeof error.code === 'string' ? error.code : 'unknown';
}
