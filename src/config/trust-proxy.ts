import { isIP } from 'node:net';

/**
 * Whose `X-Forwarded-For` is believed. `false`: no peer's. `true`: every peer's, so its left-most address counts, which any
 * client can write unless the proxy overwrites the header. A number: that of so many proxies in a row, this service's peer
 * the first. A list: that of these addresses and networks; the right-most address that is none of theirs is the client's.
 */
export type TrustProxy = boolean | number | readonly string[];

/** Longer chains of proxies are mistakes. */
const MAX_HOPS = 32;
const NETWORK = /^([0-9a-f.:]+)\/(\d{1,3})$/i;

/** What `TRUST_PROXY` says; undefined when it is none of these. @param entries the comma list */
export function parseTrustProxy(entries: readonly string[]): TrustProxy | undefined {
  const [first, ...others] = entries;
  if (first === undefined) return undefined;
  if (others.length === 0) {
    if (first === 'true' || first === 'false') return first === 'true';
    if (/^\d{1,2}$/.test(first)) return Number(first) <= MAX_HOPS ? Number(first) || false : undefined;
  }
  return entries.every(isAddressOrNetwork) ? entries : undefined;
}

/** The entries that are no address and no network, for a message. */
export function notProxies(entries: readonly string[]): string[] {
  const unfit = entries.filter((entry) => !isAddressOrNetwork(entry));
  return unfit.length > 0 ? unfit : [...entries];
}

/** `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`. A network of every address would be `true` in disguise. */
function isAddressOrNetwork(text: string): boolean {
  const [, address = text, prefix] = NETWORK.exec(text) ?? [];
  // Of the forms that Node takes, Express does not know all: IPv4 within IPv6, and the name of an interface.
  if (isIP(address) === 0 || /%|:.*\./.test(address)) return false;
  return prefix === undefined || (Number(prefix) >= 1 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128));
}
