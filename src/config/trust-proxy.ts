import { isIP } from 'node:net';

/**
 * Which peers' `X-Forwarded-For` is believed. `false`: none. `true`: all, so the left-most address counts, which any client can
 * set unless the proxy overwrites the header. A number: that many proxies in a row, starting with this service's peer. A list:
 * these addresses and networks; the right-most address outside of them is the client's.
 */
export type TrustProxy = boolean | number | readonly string[];

/** A longer chain of proxies is taken for a mistake. */
const MAX_HOPS = 32;
const NETWORK = /^([0-9a-f.:]+)\/(\d{1,3})$/i;

/** Parses `TRUST_PROXY`; undefined when it is not valid. @param entries the parts of the comma list */
export function parseTrustProxy(entries: readonly string[]): TrustProxy | undefined {
  const [first, ...others] = entries;
  if (first === undefined) return undefined;
  if (others.length === 0) {
    if (first === 'true' || first === 'false') return first === 'true';
    if (/^\d{1,2}$/.test(first)) return Number(first) <= MAX_HOPS ? Number(first) || false : undefined;
  }
  return entries.every(isAddressOrNetwork) ? entries : undefined;
}

/** The entries that are neither an address nor a network, for the error message. */
export function notProxies(entries: readonly string[]): string[] {
  const unfit = entries.filter((entry) => !isAddressOrNetwork(entry));
  return unfit.length > 0 ? unfit : [...entries];
}

/** `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`. A network of every address would be `true` in disguise. */
function isAddressOrNetwork(text: string): boolean {
  const [, address = text, prefix] = NETWORK.exec(text) ?? [];
  // Forms that Node accepts and Express does not: IPv4 within IPv6, and a zone id (the name of an interface).
  if (isIP(address) === 0 || /%|:.*\./.test(address)) return false;
  return prefix === undefined || (Number(prefix) >= 1 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128));
}
